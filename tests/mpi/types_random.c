// SPDX-License-Identifier: Apache-2.0
// Random derived types through messages, against a list of bytes: a tree of constructors is made
// together with the offsets of its integers by the standard's definition. Sent, received, received
// in part; all protocols; both layouts at once. SEED=number repeats one round.
// ranks: 1 2
// timeout: 120
#include "check.h"

enum { kMostInts = 60000, kMostSpan = 1 << 22, kRounds = 400 };

struct Layout {
  MPI_Datatype type;
  int ints,
      marked;  // marked: its bounds were set, and then count before those that follow from data
  long lb, ub;
  long* at;  // the offset of each integer, in the order of the type map
};

static unsigned long long state;
static unsigned next(unsigned below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33) % below;
}

static struct Layout basic(void) {
  struct Layout made = {MPI_INT, 1, 0, 0, 4, calloc(kMostInts, sizeof(long))};
  CHECK(made.at != NULL);
  return made;
}

static struct Layout empty(void) {
  struct Layout made = basic();
  made.ints = 0;
  made.lb = kMostSpan;
  made.ub = -kMostSpan;
  return made;
}

static void bound(struct Layout* whole, long lb, long ub, int marked) {
  if (whole->marked && !marked) return;
  if (marked && !whole->marked) {
    whole->lb = kMostSpan;
    whole->ub = -kMostSpan;
    whole->marked = 1;
  }
  if (lb < whole->lb) whole->lb = lb;
  if (ub > whole->ub) whole->ub = ub;
}

// Puts `count` copies of `part`, one extent apart, behind what is there; the first at `from`.
static void place(struct Layout* whole, const struct Layout* part, int count, long from) {
  for (int i = 0; i < count; ++i) {
    const long by = from + i * (part->ub - part->lb);
    for (int k = 0; k < part->ints && whole->ints < kMostInts; ++k)
      whole->at[whole->ints++] = by + part->at[k];
    bound(whole, by + part->lb, by + part->ub, part->marked);
  }
}

static void drop(struct Layout* layout) {
  if (layout->type != MPI_INT) OK(MPI_Type_free(&layout->type));
  free(layout->at);
}

static long extent(const struct Layout* layout) { return layout->ub - layout->lb; }
static long gap(void) { return 4 * ((long)next(9) - 2); }

static void vectors(struct Layout* made, const struct Layout* part) {
  const int count = 1 + (int)next(5), block = 1 + (int)next(3), in_bytes = (int)next(2);
  const long step =
      in_bytes ? block * extent(part) + gap() : (block + (long)next(4) - 1) * extent(part);
  for (int i = 0; i < count; ++i) place(made, part, block, i * step);
  if (in_bytes)
    OK(MPI_Type_create_hvector(count, block, step, part->type, &made->type));
  else
    OK(MPI_Type_vector(count, block, (int)(step / extent(part)), part->type, &made->type));
}

static void blocks(struct Layout* made, const struct Layout* part) {
  int count = 1 + (int)next(6), lengths[6], units[6], how = (int)next(4);
  MPI_Aint bytes[6];
  for (int i = 0; i < count; ++i) {
    lengths[i] = how < 2 ? (int)next(4) + (i == 0) : 2;
    units[i] = 5 * i + (int)next(3) - 1;
    bytes[i] = how % 2 ? units[i] * extent(part) + gap() : units[i] * extent(part);
    place(made, part, lengths[i], bytes[i]);
  }
  if (how == 0) OK(MPI_Type_indexed(count, lengths, units, part->type, &made->type));
  if (how == 1) OK(MPI_Type_create_hindexed(count, lengths, bytes, part->type, &made->type));
  if (how == 2) OK(MPI_Type_create_indexed_block(count, 2, units, part->type, &made->type));
  if (how == 3) OK(MPI_Type_create_hindexed_block(count, 2, bytes, part->type, &made->type));
}

static void subarray(struct Layout* made, const struct Layout* part) {
  int sizes[2], subsizes[2], starts[2];
  for (int i = 0; i < 2; ++i) {
    sizes[i] = 1 + (int)next(6);
    subsizes[i] = 1 + (int)next((unsigned)sizes[i]);
    starts[i] = (int)next((unsigned)(sizes[i] - subsizes[i] + 1));
  }
  for (int row = 0; row < subsizes[0]; ++row)
    place(made, part, subsizes[1], ((starts[0] + row) * sizes[1] + starts[1]) * extent(part));
  made->marked = 1;
  made->lb = 0;
  made->ub = sizes[0] * sizes[1] * extent(part);
  OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, part->type, &made->type));
}

static struct Layout grow(int depth);

static void structure(struct Layout* made, const struct Layout* part, int depth) {
  struct Layout second = grow(depth - 1);
  const int lengths[3] = {1 + (int)next(2), 1, (int)next(3)};
  const MPI_Aint from[3] = {gap(), lengths[0] * extent(part) + 64, -extent(&second) - 128};
  const MPI_Datatype types[3] = {part->type, MPI_INT, second.type};
  const struct Layout one = {MPI_INT, 1, 0, 0, 4, (long[]){0}};
  place(made, part, lengths[0], from[0]);
  place(made, &one, 1, from[1]);
  place(made, &second, lengths[2], from[2]);
  OK(MPI_Type_create_struct(3, lengths, from, types, &made->type));
  drop(&second);
}

static void bounds(struct Layout* made, const struct Layout* part) {
  place(made, part, 1, 0);
  made->marked = 1;
  made->lb = part->lb - 4 * (long)next(3);
  made->ub = part->ub + 4 * (long)next(5);
  OK(MPI_Type_create_resized(part->type, made->lb, extent(made), &made->type));
}

static struct Layout grow(int depth) {
  if (depth == 0) return basic();
  struct Layout part = grow(depth - 1), made = empty();
  switch (next(6)) {
    case 0: {
      const int count = 1 + (int)next(40);
      place(&made, &part, count, 0);
      OK(MPI_Type_contiguous(count, part.type, &made.type));
      break;
    }
    case 1:
      vectors(&made, &part);
      break;
    case 2:
      blocks(&made, &part);
      break;
    case 3:
      subarray(&made, &part);
      break;
    case 4:
      structure(&made, &part, depth);
      break;
    default:
      bounds(&made, &part);
  }
  drop(&part);
  return made;
}

// What the library says of the type, and whether `count` of it can be tried at all.
static int usable(struct Layout* made, int count) {
  MPI_Aint lb, got;
  int size;
  if (made->ints == 0 || made->ints >= kMostInts || extent(made) <= 0) return 0;
  OK(MPI_Type_get_extent(made->type, &lb, &got));
  OK(MPI_Type_size(made->type, &size));
  CHECK_EQ(lb, made->lb);
  CHECK_EQ(got, extent(made));
  CHECK_EQ(size, 4 * made->ints);
  return (long)made->ints * count <= kMostInts && extent(made) * count + 4096 < kMostSpan / 2;
}

static int separate(const struct Layout* layout, int count, char* seen) {
  memset(seen, 0, 2 * kMostSpan);
  for (int i = 0; i < count * layout->ints; ++i) {
    const long at = layout->at[i % layout->ints] + i / layout->ints * extent(layout);
    if (seen[kMostSpan + at]++) return 0;
  }
  return 1;
}

static int* integer(char* origin, const struct Layout* layout, int i) {
  return (int*)(origin + layout->at[i % layout->ints] + i / layout->ints * extent(layout));
}

static void receive(void* to, int count, MPI_Datatype type, int from, MPI_Status* status) {
  MPI_Message message;
  if (next(2)) {
    OK(MPI_Recv(to, count, type, from, 1, MPI_COMM_WORLD, status));
    return;
  }
  OK(MPI_Mprobe(from, 1, MPI_COMM_WORLD, &message, status));
  OK(MPI_Mrecv(to, count, type, &message, status));
}

// `ints` integers from a buffer laid out as `out` to one laid out as `in`, which has room for more.
static void transfer(struct Layout* out, int outs, struct Layout* in, int ins, char* from,
                     char* to) {
  const int ints = out->ints * outs, peer = size - 1 - rank, early = (int)next(2);
  MPI_Request request, receipt = MPI_REQUEST_NULL;
  MPI_Status status;
  int elements;
  memset(from, 0x11, 2 * kMostSpan);
  memset(to, 0x22, 2 * kMostSpan);
  for (int i = 0; i < ints; ++i) *integer(from + kMostSpan, out, i) = i + 7;
  if (early) OK(MPI_Irecv(to + kMostSpan, ins, in->type, peer, 1, MPI_COMM_WORLD, &receipt));
  if (next(3) == 0)
    OK(MPI_Issend(from + kMostSpan, outs, out->type, peer, 1, MPI_COMM_WORLD, &request));
  else
    OK(MPI_Isend(from + kMostSpan, outs, out->type, peer, 1, MPI_COMM_WORLD, &request));
  if (early)
    OK(MPI_Wait(&receipt, &status));
  else
    receive(to + kMostSpan, ins, in->type, peer, &status);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Get_elements(&status, in->type, &elements));
  CHECK_EQ(elements, ints);
  for (int i = 0; i < ints; ++i) {  // what was sent twice holds the later value
    const int sent = *integer(from + kMostSpan, out, i);
    int* got = integer(to + kMostSpan, in, i);
    if (*got != sent) FAIL("integer %d of %d is %d, but %d was sent", i, ints, *got, sent);
    *got = 0x22222222;
  }
  CHECK(untouched(to, 0, 2 * kMostSpan, 0x22));
}

static int round_of(unsigned long long seed, char* from, char* to) {
  state = seed * 0x9e3779b97f4a7c15ULL + 1;
  struct Layout out = grow(1 + (int)next(4)), in = grow(1 + (int)next(3));
  const int outs = 1 + (int)next(next(4) == 0 ? 200 : 4);
  const int ins = in.ints == 0 ? 1 : (out.ints * outs + in.ints - 1) / in.ints + (int)next(2);
  const int fit = usable(&out, outs) && usable(&in, ins) && separate(&in, ins, to);
  if (fit) {
    OK(MPI_Type_commit(&out.type));
    OK(MPI_Type_commit(&in.type));
    transfer(&out, outs, &in, ins, from, to);
  }
  drop(&out);
  drop(&in);
  return fit;
}

int main(int argc, char** argv) {
  const char* one = getenv("SEED");
  begin(&argc, &argv);
  char *from = malloc(2 * kMostSpan), *to = malloc(2 * kMostSpan);
  CHECK(from != NULL && to != NULL);
  int tried = 0;
  for (int round = 0; round < kRounds; ++round) {
    const unsigned long long seed = one != NULL ? strtoull(one, NULL, 10) : 1000ULL + round;
    tried += round_of(seed, from, to);
  }
  CHECK(one != NULL || tried > kRounds / 3);
  free(from);
  free(to);
  return end();
}
