// SPDX-License-Identifier: Apache-2.0
// Collectives that move data, with random derived types, different at both ends, against a list of
// bytes: counts around thresholds, all roots, in place, unequal blocks. Bytes outside blocks must
// not change. SEED=number repeats a round.
// ranks: 1 2 3 4 5 8
// timeout: 300
#include "layout.h"

enum { kMostRanks = 64, kMostBlockInts = 70000, kMostBytes = 5 << 20 };

enum Kind {
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kKinds
};
enum Form { kBlocking, kNonblocking, kPersistent, kForms };
static const char* const kKindNames[] = {"bcast",      "gather",   "gatherv",
                                         "scatter",    "scatterv", "allgather",
                                         "allgatherv", "alltoall", "alltoallv"};
static const char* const kFormNames[] = {"blocking", "nonblocking", "persistent"};

struct Shape {
  enum Kind kind;
  enum Form form;
  int root, in_place;
  long units;
  const struct Layout *sent, *received;
};

struct Side {
  const struct Layout* layout;
  int blocks, counts[kMostRanks], displs[kMostRanks];
  struct Room room;
};

static char* seen;
static unsigned long long seed;

static int irregular(enum Kind kind) {
  return kind == kGatherv || kind == kScatterv || kind == kAllgatherv || kind == kAlltoallv;
}

static long units_of(const struct Shape* shape, int from, int to) {
  if (!irregular(shape->kind)) return shape->units;
  if (shape->kind == kAlltoallv && shape->in_place) return shape->units * ((from + to) % 3);
  return shape->units * ((2 * from + to) % 3) + (from + to) % 2;
}

static int value(int from, int to, int round, long i) {
  return from * 1000003 + to * 10007 + round * 500009 + (int)i * 31;
}

static int from_of(const struct Shape* shape, int sends, int b) {
  switch (shape->kind) {
    case kBcast:
    case kScatter:
    case kScatterv:
      return shape->root;
    default:
      return sends ? rank : b;
  }
}
static int to_of(const struct Shape* shape, int sends, int b) {
  switch (shape->kind) {
    case kScatter:
    case kScatterv:
    case kAlltoall:
    case kAlltoallv:
      return sends ? b : rank;
    default:
      return 0;
  }
}
static int blocks_of(const struct Shape* shape, int sends) {
  switch (shape->kind) {
    case kBcast:
      return 1;
    case kGather:
    case kGatherv:
      return sends ? 1 : rank == shape->root ? size : 0;
    case kScatter:
    case kScatterv:
      return sends ? (rank == shape->root ? size : 0) : 1;
    case kAllgather:
    case kAllgatherv:
      return sends ? 1 : size;
    default:
      return size;
  }
}

static long lay_out(const struct Shape* shape, int sends, const struct Layout* layout,
                    struct Side* side) {
  const struct Layout* other = layout == shape->sent ? shape->received : shape->sent;
  long at = 0;
  side->layout = layout;
  side->blocks = blocks_of(shape, sends);
  for (int b = 0; b < side->blocks; ++b) {
    const long units = units_of(shape, from_of(shape, sends, b), to_of(shape, sends, b));
    side->counts[b] = (int)(units * other->ints);
    side->displs[b] = (int)at;
    at += side->counts[b] + irregular(shape->kind);
  }
  return at;
}

static int* integer_of(const struct Side* side, int b, long i) {
  return integer(side->room.origin, side->layout, (long)side->displs[b] * side->layout->ints + i);
}
static void put(const struct Side* side, int b, int from, int to, int round) {
  for (long i = 0; i < (long)side->counts[b] * side->layout->ints; ++i)
    *integer_of(side, b, i) = value(from, to, round, i);
}

static void take(const struct Shape* shape, const struct Side* side, int b, int round) {
  const int from = from_of(shape, 0, b), to = to_of(shape, 0, b);
  for (long i = 0; i < (long)side->counts[b] * side->layout->ints; ++i) {
    int* got = integer_of(side, b, i);
    if (*got != value(from, to, round, i))
      FAIL("SEED=%llu: %s %s, root %d, in place %d, %ld units: integer %ld from %d is %d, not %d",
           seed, kFormNames[shape->form], kKindNames[shape->kind], shape->root, shape->in_place,
           shape->units, i, from, *got, value(from, to, round, i));
    *got = 0x22222222;
  }
}

static int here(const struct Shape* shape) {
  const int rooted = shape->kind >= kGather && shape->kind <= kScatterv;
  return shape->in_place && (!rooted || rank == shape->root);
}

static void fill_all(const struct Shape* shape, struct Side* in, struct Side* out, int round) {
  const int scatters = shape->kind == kScatter || shape->kind == kScatterv;
  if (shape->kind == kBcast) {
    if (rank == shape->root) put(out, 0, rank, 0, round);
  } else if (!here(shape) || scatters) {
    for (int b = 0; b < in->blocks; ++b)
      put(in, b, from_of(shape, 1, b), to_of(shape, 1, b), round);
  } else if (shape->kind == kAlltoall || shape->kind == kAlltoallv) {
    for (int b = 0; b < size; ++b) put(out, b, rank, b, round);
  } else {
    put(out, rank, rank, 0, round);
  }
}

static void check_all(const struct Shape* shape, struct Side* out, int round) {
  const int scatters = shape->kind == kScatter || shape->kind == kScatterv;
  if (scatters && here(shape)) return;
  for (int b = 0; b < out->blocks; ++b) take(shape, out, b, round);
  if (!untouched(out->room.memory, 0, (size_t)out->room.bytes, 0x22))
    FAIL("SEED=%llu: %s %s wrote beside its blocks", seed, kFormNames[shape->form],
         kKindNames[shape->kind]);
}

#define CALL(Name, name, ...)                                                            \
  do {                                                                                   \
    if (form == kBlocking) OK(MPI_##Name(__VA_ARGS__));                                  \
    if (form == kNonblocking) OK(MPI_I##name(__VA_ARGS__, request));                     \
    if (form == kPersistent) OK(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request)); \
  } while (0)

static void call(const struct Shape* shape, const struct Side* in, const struct Side* out,
                 MPI_Request* request) {
  const enum Form form = shape->form;
  const int root = shape->root, n = in->counts[0], m = out->counts[0];
  const MPI_Datatype s = in->layout->type, r = out->layout->type;
  const int scatters = shape->kind == kScatter || shape->kind == kScatterv;
  const void* from = here(shape) && !scatters ? MPI_IN_PLACE : in->room.origin;
  void* to = here(shape) && scatters ? MPI_IN_PLACE : out->room.origin;
  const MPI_Comm w = MPI_COMM_WORLD;
  switch (shape->kind) {
    case kBcast:
      CALL(Bcast, bcast, to, m, r, root, w);
      break;
    case kGather:
      CALL(Gather, gather, from, n, s, to, m, r, root, w);
      break;
    case kGatherv:
      CALL(Gatherv, gatherv, from, n, s, to, out->counts, out->displs, r, root, w);
      break;
    case kScatter:
      CALL(Scatter, scatter, from, n, s, to, m, r, root, w);
      break;
    case kScatterv:
      CALL(Scatterv, scatterv, from, in->counts, in->displs, s, to, m, r, root, w);
      break;
    case kAllgather:
      CALL(Allgather, allgather, from, n, s, to, m, r, w);
      break;
    case kAllgatherv:
      CALL(Allgatherv, allgatherv, from, n, s, to, out->counts, out->displs, r, w);
      break;
    case kAlltoall:
      CALL(Alltoall, alltoall, from, n, s, to, m, r, w);
      break;
    default:
      CALL(Alltoallv, alltoallv, from, in->counts, in->displs, s, to, out->counts, out->displs, r,
           w);
  }
}

static void run(const struct Shape* shape) {
  struct Side in = {.blocks = 0}, out = {.blocks = 0};
  MPI_Request request = MPI_REQUEST_NULL;
  const int turned = shape->kind == kBcast && rank % 2 == 1;
  const long ins = lay_out(shape, 1, shape->sent, &in);
  const long outs = lay_out(shape, 0, turned ? shape->sent : shape->received, &out);
  in.room = make_room(in.layout, ins, 0x11);
  out.room = make_room(out.layout, outs, 0x22);
  for (int round = 0; round < (shape->form == kPersistent ? 3 : 1); ++round) {
    fill_all(shape, &in, &out, round);
    if (round == 0) call(shape, &in, &out, &request);
    if (shape->form == kPersistent) OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_all(shape, &out, round);
  }
  if (shape->form == kPersistent) OK(MPI_Request_free(&request));
  free(in.room.memory);
  free(out.room.memory);
}

static int fit(const struct Layout* layout, const struct Layout* other, long units) {
  return fits(layout, size * (2 * units + 2) * other->ints, kMostBytes, seen);
}

static int try_round(void) {
  static const int bytes[] = {0, 8, 100, 512, 1024, 4096, 8192, 16384, 65536, 131072, 262144};
  state = seed * 0x9e3779b97f4a7c15ULL + 1;
  const int target = bytes[next(sizeof bytes / sizeof bytes[0])], deep = target < 5000 ? 3 : 1;
  struct Layout sent = grow((int)next((unsigned)deep + 1)), received = grow((int)next(2));
  struct Shape shape = {(enum Kind)next(kKinds),
                        (enum Form)next(kForms),
                        (int)next((unsigned)size),
                        (int)next(3) == 0,
                        0,
                        &sent,
                        &received};
  const long unit = (long)sent.ints * received.ints;
  if (target > 0 && unit > 0) shape.units = target / 4 / unit + (long)next(3) - (target > 8);
  if (shape.units < 0) shape.units = 0;
  const int usable = unit * shape.units < kMostBlockInts && fit(&sent, &received, shape.units) &&
                     fit(&received, &sent, shape.units);
  if (usable) {
    OK(MPI_Type_commit(&sent.type));
    OK(MPI_Type_commit(&received.type));
    run(&shape);
  }
  drop(&sent);
  drop(&received);
  return usable;
}

int main(int argc, char** argv) {
  const char *one = getenv("SEED"), *full = getenv("FULL");
  const int rounds = one != NULL ? 1 : full != NULL && *full != '\0' ? 20000 : 500;
  int tried = 0;
  begin(&argc, &argv);
  CHECK(size <= kMostRanks);
  seen = malloc(2 * kMostSpan);
  CHECK(seen != NULL);
  for (int round = 0; round < rounds; ++round) {
    seed = one != NULL ? strtoull(one, NULL, 10) : 5000ULL + (unsigned)round;
    tried += try_round();
  }
  CHECK(one != NULL || tried > rounds / 4);
  if (getenv("VERBOSE") != NULL && rank == 0) printf("%d of %d rounds\n", tried, rounds);
  free(seen);
  return end();
}
