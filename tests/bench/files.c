// SPDX-License-Identifier: Apache-2.0
// Times MPI-IO on one file in --folder: independent and collective transfers of blocks of all ranks
// in turn, nonblocking transfers, shared pointers, and calls without data. A name ends in the bytes
// of a block where blocks alternate; the size is the bytes of a rank. Data is checked once.
#include "bench.h"

enum { kAtOnce = 1 << 20, kPart = 16 << 20, kSmall = 4096, kRounds = kPart / kAtOnce };

typedef struct {
  const Bench* bench;
  MPI_File file;
  char name[512], other[520];
  char *out, *in;
  int block, bytes, collective, nonblocking;
  long turn;
  MPI_Datatype tile;  // of the view: a block of each rank
} Files;

static void ok(const Files* f, int code, const char* call) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "%s: %s\n", call, text);
  bench_fail(f->bench, call, 0);
}
#define OK(call) ok(f, call, #call)

// Offsets of independent and contiguous transfers move on through the rank's part.
static MPI_Offset next_place(Files* f) {
  const long places = kPart / (f->bytes < kSmall ? kSmall : f->bytes);
  return (MPI_Offset)f->bench->rank * kPart + f->turn++ % places * (kPart / places);
}

static void write_own(void* state, long iterations) {
  Files* f = state;
  for (long i = 0; i < iterations; ++i) {
    const MPI_Offset at = f->block ? 0 : next_place(f);
    MPI_Request request;
    if (f->nonblocking && f->collective)
      OK(MPI_File_iwrite_at_all(f->file, at, f->out, f->bytes, MPI_BYTE, &request));
    else if (f->nonblocking)
      OK(MPI_File_iwrite_at(f->file, at, f->out, f->bytes, MPI_BYTE, &request));
    else if (f->collective)
      OK(MPI_File_write_at_all(f->file, at, f->out, f->bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    else
      OK(MPI_File_write_at(f->file, at, f->out, f->bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    if (f->nonblocking) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

static void read_own(void* state, long iterations) {
  Files* f = state;
  for (long i = 0; i < iterations; ++i) {
    const MPI_Offset at = f->block ? 0 : next_place(f);
    if (f->collective)
      OK(MPI_File_read_at_all(f->file, at, f->in, f->bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    else
      OK(MPI_File_read_at(f->file, at, f->in, f->bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  }
}

static void write_shared(void* state, long iterations) {
  Files* f = state;
  for (long i = 0; i < iterations; ++i) {
    if (f->collective)
      OK(MPI_File_write_ordered(f->file, f->out, f->bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    else
      OK(MPI_File_write_shared(f->file, f->out, f->bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  }
}

static void open_close(void* state, long iterations) {
  Files* f = state;
  for (long i = 0; i < iterations; ++i) {
    MPI_File file;
    OK(MPI_File_open(MPI_COMM_WORLD, f->name, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    OK(MPI_File_close(&file));
  }
}

static void create_delete(void* state, long iterations) {
  Files* f = state;
  const int mode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
  for (long i = 0; i < iterations; ++i) {
    MPI_File file;
    OK(MPI_File_open(MPI_COMM_WORLD, f->other, mode, MPI_INFO_NULL, &file));
    OK(MPI_File_close(&file));
  }
}

static void set_view(void* state, long iterations) {
  Files* f = state;
  for (long i = 0; i < iterations; ++i)
    OK(MPI_File_set_view(f->file, 0, MPI_BYTE, f->tile, "native", MPI_INFO_NULL));
}

static void get_size(void* state, long iterations) {
  Files* f = state;
  MPI_Offset bytes;
  for (long i = 0; i < iterations; ++i) OK(MPI_File_get_size(f->file, &bytes));
}

static void measure(Files* f, const char* name, BenchBody body) {
  char full[64];
  if (f->block)
    snprintf(full, sizeof full, "files_%s_%d", name, f->block);
  else
    snprintf(full, sizeof full, "files_%s", name);
  if (!bench_wanted(f->bench, full)) return;
  f->turn = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  bench_report(f->bench, full, (size_t)f->bytes, bench_time(f->bench, body, f) * 1e6, "us");
}

static void view_whole(Files* f) {
  f->block = 0;
  OK(MPI_File_set_view(f->file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
}

static void view_blocks(Files* f, int block) {
  MPI_Datatype part;
  f->block = block;
  MPI_Type_contiguous(block, MPI_BYTE, &part);
  MPI_Type_create_resized(part, 0, (MPI_Aint)block * f->bench->ranks, &f->tile);
  MPI_Type_commit(&f->tile);
  MPI_Type_free(&part);
  OK(MPI_File_set_view(f->file, (MPI_Offset)block * f->bench->rank, MPI_BYTE, f->tile, "native",
                       MPI_INFO_NULL));
}

// Another rank's data at a wrong place is found: each rank has a pattern of its own.
static void check(Files* f) {
  bench_fill(f->out, (size_t)f->bytes, f->bench->rank);
  f->turn = 0;
  write_own(f, 1);
  OK(MPI_File_sync(f->file));
  MPI_Barrier(MPI_COMM_WORLD);
  memset(f->in, 0, (size_t)f->bytes);
  f->turn = 0;
  read_own(f, 1);
  bench_expect(f->bench, f->in, (size_t)f->bytes, f->bench->rank, "files: wrong data");
}

static void transfers(Files* f, const char* writes, const char* reads, int collective, int bytes) {
  f->collective = collective;
  f->bytes = bytes;
  check(f);
  measure(f, writes, write_own);
  if (reads) measure(f, reads, read_own);
}

static void contiguous(Files* f) {
  view_whole(f);
  transfers(f, "write", "read", 0, kSmall);
  transfers(f, "write", "read", 0, kAtOnce);
  transfers(f, "write_all", NULL, 1, 8);
  transfers(f, "write_all", "read_all", 1, kAtOnce);
  f->nonblocking = 1;
  transfers(f, "iwrite", NULL, 0, kAtOnce);
  f->nonblocking = 0;
  OK(MPI_File_set_atomicity(f->file, 1));
  transfers(f, "write_atomic", NULL, 0, kSmall);
  OK(MPI_File_set_atomicity(f->file, 0));
}

static void alternating(Files* f, int block, int bytes) {
  view_blocks(f, block);
  transfers(f, "write", "read", 0, bytes);
  transfers(f, "write_all", "read_all", 1, kAtOnce);
  f->nonblocking = 1;
  transfers(f, "iwrite_all", NULL, 1, kAtOnce);
  f->nonblocking = 0;
  MPI_Type_free(&f->tile);
}

static void without_data(Files* f) {
  f->bytes = 0;
  measure(f, "open_close", open_close);
  measure(f, "create_delete", create_delete);
  measure(f, "get_size", get_size);
  view_blocks(f, 64);
  f->block = 0;
  measure(f, "set_view", set_view);
  MPI_Type_free(&f->tile);
}

static void shared(Files* f) {
  for (int ordered = 0; ordered < 2; ++ordered) {
    f->collective = ordered;
    f->bytes = 64;
    OK(MPI_File_seek_shared(f->file, 0, MPI_SEEK_SET));
    measure(f, ordered ? "write_ordered" : "write_shared", write_shared);
  }
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, kAtOnce);
  Files* const f = &(Files){.bench = &bench};
  snprintf(f->name, sizeof f->name, "%.480s/tern-bench-file", bench.folder);
  snprintf(f->other, sizeof f->other, "%.500s.new", f->name);
  f->out = bench_buffer(&bench, kAtOnce).base;
  f->in = bench_buffer(&bench, kAtOnce).base;
  OK(MPI_File_open(MPI_COMM_WORLD, f->name,
                   MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                   &f->file));
  f->bytes = kAtOnce;
  for (f->turn = 0; f->turn < kRounds;) write_own(f, 1);
  contiguous(f);
  alternating(f, kSmall, 256 << 10);
  alternating(f, 64, 64 << 10);
  view_whole(f);
  without_data(f);
  view_whole(f);
  shared(f);
  OK(MPI_File_close(&f->file));
  return bench_close();
}
