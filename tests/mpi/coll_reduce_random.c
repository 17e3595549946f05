// SPDX-License-Identifier: Apache-2.0
// User operations on random derived types against a serial reference. Bytes outside elements must
// not change. SEED=number repeats a round.
// ranks: 1 2 3 4 5 8
// timeout: 300
#include "layout.h"

enum { kMostRanks = 64, kMostAll = 300000, kMostBytes = 5 << 20, kPrime = 181 };

enum Kind { kReduce, kAllreduce, kReduceScatter, kReduceScatterBlock, kScan, kExscan, kKinds };
enum Form { kBlocking, kNonblocking, kPersistent, kForms };
static const char* const kKindNames[] = {"reduce",   "allreduce", "reduce_scatter",
                                         "rs_block", "scan",      "exscan"};
static const char* const kFormNames[] = {"blocking", "nonblocking", "persistent"};

struct Shape {
  enum Kind kind;
  enum Form form;
  int root, in_place, count;
  int counts[kMostRanks];
  const struct Layout* layout;
  MPI_Op op;
};

static char* seen;
static unsigned long long seed;

// Functions x -> a x + b modulo a prime, stored as a * prime + b, or their sums.

static const struct Layout* reduced;
static int commutes;

static int combined(int f, int g) {
  const int fa = f / kPrime, fb = f % kPrime, ga = g / kPrime, gb = g % kPrime;
  if (commutes) return (f + g) % (kPrime * kPrime);
  return fa * ga % kPrime * kPrime + (fa * gb + fb) % kPrime;
}
static void combine(void* in, void* inout, int* count, MPI_Datatype* type) {
  CHECK(*type == reduced->type);
  for (long i = 0; i < (long)*count * reduced->ints; ++i) {
    int* const right = integer(inout, reduced, i);
    *right = combined(*integer(in, reduced, i), *right);
  }
}
static int value(int from, int round, long i) {
  return (int)((from * 7919L + i * 31 + round * 101 + 5) % (kPrime * kPrime));
}
static int expected(int ranks, int round, long i) {
  int sum = value(0, round, i);
  for (int r = 1; r < ranks; ++r) sum = combined(sum, value(r, round, i));
  return sum;
}

static int scatters(const struct Shape* shape) {
  return shape->kind == kReduceScatter || shape->kind == kReduceScatterBlock;
}
static int here(const struct Shape* shape) {
  return shape->in_place && (shape->kind != kReduce || rank == shape->root);
}
static long first_of(const struct Shape* shape, int r) {
  long at = 0;
  for (int before = 0; before < r && scatters(shape); ++before) at += shape->counts[before];
  return at;
}
static long whole(const struct Shape* shape) {
  return scatters(shape) ? first_of(shape, size) : shape->count;
}
static long own(const struct Shape* shape) {
  return scatters(shape) ? shape->counts[rank] : shape->count;
}

static void put(const struct Shape* shape, const struct Room* room, int round) {
  for (long i = 0; i < whole(shape) * shape->layout->ints; ++i)
    *integer(room->origin, shape->layout, i) = value(rank, round, i);
}

static void take(const struct Shape* shape, const struct Room* room, int round) {
  const struct Layout* layout = shape->layout;
  const int ranks = shape->kind == kScan ? rank + 1 : shape->kind == kExscan ? rank : size;
  const long first = first_of(shape, rank) * layout->ints;
  if (ranks == 0 || (shape->kind == kReduce && rank != shape->root)) return;
  for (long i = 0; i < own(shape) * layout->ints; ++i) {
    int* got = integer(room->origin, layout, i);
    if (*got != expected(ranks, round, first + i))
      FAIL("SEED=%llu: %s %s %s, root %d, in place %d, %ld elements: integer %ld is %d, not %d",
           seed, commutes ? "commutative" : "ordered", kFormNames[shape->form],
           kKindNames[shape->kind], shape->root, shape->in_place, own(shape), i, *got,
           expected(ranks, round, first + i));
    *got = 0x22222222;
  }
  // In place, bytes beyond the result are undefined.
  if (!here(shape) && !untouched(room->memory, 0, (size_t)room->bytes, 0x22))
    FAIL("SEED=%llu: %s %s wrote beside its elements", seed, kFormNames[shape->form],
         kKindNames[shape->kind]);
}

#define CALL(Name, name, ...)                                                            \
  do {                                                                                   \
    if (form == kBlocking) OK(MPI_##Name(__VA_ARGS__));                                  \
    if (form == kNonblocking) OK(MPI_I##name(__VA_ARGS__, request));                     \
    if (form == kPersistent) OK(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request)); \
  } while (0)

static void call(const struct Shape* shape, const void* in, void* out, MPI_Request* request) {
  const enum Form form = shape->form;
  const MPI_Datatype t = shape->layout->type;
  const MPI_Comm w = MPI_COMM_WORLD;
  const int n = shape->count;
  switch (shape->kind) {
    case kReduce:
      CALL(Reduce, reduce, in, rank == shape->root ? out : NULL, n, t, shape->op, shape->root, w);
      break;
    case kAllreduce:
      CALL(Allreduce, allreduce, in, out, n, t, shape->op, w);
      break;
    case kReduceScatter:
      CALL(Reduce_scatter, reduce_scatter, in, out, shape->counts, t, shape->op, w);
      break;
    case kReduceScatterBlock:
      CALL(Reduce_scatter_block, reduce_scatter_block, in, out, n, t, shape->op, w);
      break;
    case kScan:
      CALL(Scan, scan, in, out, n, t, shape->op, w);
      break;
    default:
      CALL(Exscan, exscan, in, out, n, t, shape->op, w);
  }
}

static void run(const struct Shape* shape) {
  struct Room in = make_room(shape->layout, whole(shape), 0x11);
  struct Room out = make_room(shape->layout, here(shape) ? whole(shape) : own(shape), 0x22);
  MPI_Request request = MPI_REQUEST_NULL;
  for (int round = 0; round < (shape->form == kPersistent ? 3 : 1); ++round) {
    put(shape, here(shape) ? &out : &in, round);
    if (round == 0) call(shape, here(shape) ? MPI_IN_PLACE : in.origin, out.origin, &request);
    if (shape->form == kPersistent) OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    take(shape, &out, round);
  }
  if (shape->form == kPersistent) OK(MPI_Request_free(&request));
  free(in.memory);
  free(out.memory);
}

static int try_round(void) {
  static const int bytes[] = {0, 8, 100, 512, 1024, 4096, 8192, 16384, 65536, 131072, 262144};
  state = seed * 0x9e3779b97f4a7c15ULL + 1;
  const int target = bytes[next(sizeof bytes / sizeof bytes[0])];
  struct Layout layout = grow((int)next(target < 5000 ? 4 : 2));
  struct Shape shape = {.kind = (enum Kind)next(kKinds),
                        .form = (enum Form)next(kForms),
                        .root = (int)next((unsigned)size),
                        .in_place = next(3) == 0,
                        .layout = &layout};
  commutes = (int)next(2);
  if (target > 0 && layout.ints > 0)
    shape.count = target / 4 / layout.ints + (int)next(3) - (target > 8);
  if (shape.count < 0) shape.count = 0;
  for (int r = 0; r < size; ++r)
    shape.counts[r] = shape.kind == kReduceScatter ? shape.count * (r % 3) + r % 2 : shape.count;
  const int usable =
      whole(&shape) * layout.ints <= kMostAll && fits(&layout, whole(&shape), kMostBytes, seen);
  if (usable) {
    OK(MPI_Type_commit(&layout.type));
    OK(MPI_Op_create(combine, commutes, &shape.op));
    reduced = &layout;
    run(&shape);
    OK(MPI_Op_free(&shape.op));
  }
  drop(&layout);
  return usable;
}

int main(int argc, char** argv) {
  const char *one = getenv("SEED"), *full = getenv("FULL");
  const int rounds = one != NULL ? 1 : full != NULL && *full != '\0' ? 5000 : 400;
  int tried = 0;
  begin(&argc, &argv);
  CHECK(size <= kMostRanks);
  seen = malloc(2 * kMostSpan);
  CHECK(seen != NULL);
  for (int round = 0; round < rounds; ++round) {
    seed = one != NULL ? strtoull(one, NULL, 10) : 9000ULL + (unsigned)round;
    tried += try_round();
  }
  CHECK(one != NULL || tried > rounds / 4);
  if (getenv("VERBOSE") != NULL && rank == 0) printf("%d of %d rounds\n", tried, rounds);
  free(seen);
  return end();
}
