// SPDX-License-Identifier: Apache-2.0
// MPI_Pack and MPI_Unpack of a dozen layouts; with two ranks, also messages of the layouts.
#include "bench.h"

typedef struct {
  const char* name;
  MPI_Datatype (*make)(int bytes);  // `bytes`: data of an element
} Layout;

static MPI_Datatype rows(int bytes, int block, int every) {
  MPI_Datatype unit, type;
  MPI_Type_contiguous(block, MPI_BYTE, &unit);
  MPI_Type_create_hvector(bytes / block, 1, every, unit, &type);
  MPI_Type_free(&unit);
  return type;
}
static MPI_Datatype rows4(int bytes) { return rows(bytes, 4, 8); }
static MPI_Datatype rows8(int bytes) { return rows(bytes, 8, 16); }
static MPI_Datatype rows64(int bytes) { return rows(bytes, 64, 128); }
static MPI_Datatype rows4096(int bytes) { return rows(bytes, 4096, 8192); }

static MPI_Datatype column_of_doubles(int bytes) {
  MPI_Datatype type;
  MPI_Type_vector(bytes / 8, 1, 64, MPI_DOUBLE, &type);
  return type;
}

static MPI_Datatype column_of_floats(int bytes) {
  MPI_Datatype type;
  MPI_Type_vector(bytes / 4, 1, 33, MPI_FLOAT, &type);
  return type;
}

// face() is a face of a cube of n x n x n doubles, n * n * 8 bytes, `normal` to the given
// dimension.
static MPI_Datatype face(int bytes, int normal) {
  int n = 1;
  while ((n + 1) * (n + 1) * 8 <= bytes) ++n;
  int sizes[] = {n, n, n}, parts[] = {n, n, n}, starts[] = {0, 0, 0};
  sizes[normal] = 3;  // a slab of the cube keeps the memory small
  parts[normal] = 1;
  starts[normal] = 1;
  MPI_Datatype type;
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  return type;
}
static MPI_Datatype face_rows(int bytes) { return face(bytes, 1); }
static MPI_Datatype face_points(int bytes) { return face(bytes, 2); }

static MPI_Datatype indexed(int bytes, int block_doubles, int mixed) {
  const int count = bytes / 8 / block_doubles;
  int* lengths = malloc((size_t)count * sizeof *lengths);
  int* places = malloc((size_t)count * sizeof *places);
  unsigned random = 12345;
  for (int i = 0; i < count; ++i) {
    random = random * 1103515245 + 12345;
    const int shift = (int)(random >> 16) % (block_doubles + 1);
    lengths[i] = mixed ? block_doubles - shift / 2 : block_doubles;
    places[i] = 2 * block_doubles * i + shift;
  }
  MPI_Datatype type;
  if (mixed)
    MPI_Type_indexed(count, lengths, places, MPI_DOUBLE, &type);
  else
    MPI_Type_create_indexed_block(count, block_doubles, places, MPI_DOUBLE, &type);
  free(lengths);
  free(places);
  return type;
}
static MPI_Datatype indexed_points(int bytes) { return indexed(bytes, 1, 0); }
static MPI_Datatype indexed_blocks(int bytes) { return indexed(bytes, 8, 0); }
static MPI_Datatype indexed_mixed(int bytes) { return indexed(bytes, 8, 1); }

static MPI_Datatype structs(int bytes) {
  const int lengths[] = {1, 3, 1};
  const MPI_Aint places[] = {0, 8, 24};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_FLOAT, MPI_CHAR};
  MPI_Datatype one, padded, type;
  MPI_Type_create_struct(3, lengths, places, (MPI_Datatype*)types, &one);
  MPI_Type_create_resized(one, 0, 32, &padded);
  MPI_Type_contiguous(bytes / 21, padded, &type);
  MPI_Type_free(&one);
  MPI_Type_free(&padded);
  return type;
}

static const Layout kLayouts[] = {{"rows_4", rows4},
                                  {"rows_8", rows8},
                                  {"rows_64", rows64},
                                  {"rows_4096", rows4096},
                                  {"column_of_doubles", column_of_doubles},
                                  {"column_of_floats", column_of_floats},
                                  {"face_rows", face_rows},
                                  {"face_points", face_points},
                                  {"indexed_points", indexed_points},
                                  {"indexed_blocks", indexed_blocks},
                                  {"indexed_mixed", indexed_mixed},
                                  {"structs", structs}};
enum { kLayoutCount = sizeof kLayouts / sizeof *kLayouts };

typedef struct {
  MPI_Datatype type;
  char *data, *packed;
  int bytes;
  const Bench* bench;
} State;

static void pack(void* of, long iterations) {
  State* state = of;
  for (long i = 0; i < iterations; ++i) {
    int position = 0;
    MPI_Pack(state->data, 1, state->type, state->packed, state->bytes, &position, MPI_COMM_SELF);
  }
}

static void unpack(void* of, long iterations) {
  State* state = of;
  for (long i = 0; i < iterations; ++i) {
    int position = 0;
    MPI_Unpack(state->packed, state->bytes, &position, state->data, 1, state->type, MPI_COMM_SELF);
  }
}

static void exchange(void* of, long iterations) {
  State* state = of;
  const int other = 1 - state->bench->rank;
  for (long i = 0; i < iterations; ++i) {
    if (state->bench->rank == 0) {
      MPI_Send(state->data, 1, state->type, other, 1, MPI_COMM_WORLD);
      MPI_Recv(state->data, 1, state->type, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(state->data, 1, state->type, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(state->data, 1, state->type, other, 1, MPI_COMM_WORLD);
    }
  }
}

static void exchange_by_hand(void* of, long iterations) {
  State* state = of;
  const int other = 1 - state->bench->rank;
  for (long i = 0; i < iterations; ++i)
    for (int turn = 0; turn < 2; ++turn) {
      if (turn == state->bench->rank) {
        pack(state, 1);
        MPI_Send(state->packed, state->bytes, MPI_PACKED, other, 1, MPI_COMM_WORLD);
      } else {
        MPI_Recv(state->packed, state->bytes, MPI_PACKED, other, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        unpack(state, 1);
      }
    }
}

static void measure(const Bench* bench, const char* what, const State* state, BenchBody body,
                    const char* layout, double part) {
  char name[64];
  snprintf(name, sizeof name, "%s_%s", what, layout);
  State copy = *state;
  const double seconds = bench_time(bench, body, &copy);
  bench_report(bench, name, (size_t)state->bytes, seconds * part * 1e6, "us");
}

static void one_layout(const Bench* bench, const Layout* layout, int bytes) {
  State state = {.bench = bench, .type = layout->make(bytes)};
  MPI_Aint low, extent;
  MPI_Type_commit(&state.type);
  MPI_Type_size(state.type, &state.bytes);
  MPI_Type_get_true_extent(state.type, &low, &extent);
  state.data = malloc((size_t)(low + extent));
  state.packed = malloc((size_t)state.bytes);
  if (!state.data || !state.packed) bench_fail(bench, "no memory for a layout", (size_t)extent);
  bench_fill(state.data, (size_t)(low + extent), 1);
  bench_fill(state.packed, (size_t)state.bytes, 2);
  if (bench->ranks == 1) {
    unpack(&state, 1);
    memset(state.packed, 0, (size_t)state.bytes);
    pack(&state, 1);
    bench_expect(bench, state.packed, (size_t)state.bytes, 2, "what was unpacked is not packed");
    measure(bench, "pack", &state, pack, layout->name, 1);
    measure(bench, "unpack", &state, unpack, layout->name, 1);
  } else {
    measure(bench, "send", &state, exchange, layout->name, 0.5);
    measure(bench, "send_by_hand", &state, exchange_by_hand, layout->name, 0.5);
  }
  free(state.data);
  free(state.packed);
  MPI_Type_free(&state.type);
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, 1 << 20);
  if (bench.ranks > 2) bench_fail(&bench, "pack: for one rank, or two", 0);
  for (int i = 0; i < kLayoutCount; ++i) {
    if (bench.operations && !strstr(bench.operations, kLayouts[i].name)) continue;
    for (size_t bytes = 1 << 14; bytes <= bench.max; bytes <<= 6)
      one_layout(&bench, &kLayouts[i], (int)bytes);
  }
  return bench_close();
}
