// SPDX-License-Identifier: Apache-2.0
// Collectives by size, blocking, nonblocking (i...) and persistent (..._init): time of one call,
// back to back, slowest rank. Size is the contribution of one rank to one other: the whole vector
// of allreduce, reduce and bcast, one block of the others. The root moves on with each call;
// --fixed-root keeps rank 0. NAME_first is the first call on a duplicate of MPI_COMM_WORLD.
#include "bench.h"

enum { kMostRanks = 1024 };
typedef enum { kBlocking, kNonblocking, kPersistent } Form;

typedef struct {
  const Bench* bench;
  MPI_Comm comm;
  char *out, *in;
  int count;  // bytes; of reductions doubles
  int* counts;
  void (*call)(void* state, int root, MPI_Request* request);
  Form form;
  int roots;
  MPI_Request requests[kMostRanks];  // persistent: by root; else only [0]
} Collective;

#define CALL(name) static void name(void* state, int root, MPI_Request* request)
#define UNPACK                    \
  Collective* c = state;          \
  const int n = c->count;         \
  const MPI_Comm world = c->comm; \
  (void)root, (void)request, (void)n, (void)c

CALL(barrier) {
  UNPACK;
  MPI_Barrier(world);
}
CALL(ibarrier) {
  UNPACK;
  MPI_Ibarrier(world, request);
}
CALL(bcast) {
  UNPACK;
  MPI_Bcast(c->in, n, MPI_CHAR, root, world);
}
CALL(ibcast) {
  UNPACK;
  MPI_Ibcast(c->in, n, MPI_CHAR, root, world, request);
}
CALL(bcast_init) {
  UNPACK;
  MPI_Bcast_init(c->in, n, MPI_CHAR, root, world, MPI_INFO_NULL, request);
}
CALL(reduce) {
  UNPACK;
  MPI_Reduce(c->out, c->in, n, MPI_DOUBLE, MPI_SUM, root, world);
}
CALL(allreduce) {
  UNPACK;
  MPI_Allreduce(c->out, c->in, n, MPI_DOUBLE, MPI_SUM, world);
}
CALL(allreduce_in_place) {
  UNPACK;
  MPI_Allreduce(MPI_IN_PLACE, c->in, n, MPI_DOUBLE, MPI_SUM, world);
}
CALL(iallreduce) {
  UNPACK;
  MPI_Iallreduce(c->out, c->in, n, MPI_DOUBLE, MPI_SUM, world, request);
}
CALL(iallreduce_in_place) {
  UNPACK;
  MPI_Iallreduce(MPI_IN_PLACE, c->in, n, MPI_DOUBLE, MPI_SUM, world, request);
}
CALL(allreduce_init) {
  UNPACK;
  MPI_Allreduce_init(c->out, c->in, n, MPI_DOUBLE, MPI_SUM, world, MPI_INFO_NULL, request);
}
CALL(reduce_scatter) {
  UNPACK;
  MPI_Reduce_scatter(c->out, c->in, c->counts, MPI_DOUBLE, MPI_SUM, world);
}
CALL(reduce_scatter_block) {
  UNPACK;
  MPI_Reduce_scatter_block(c->out, c->in, n, MPI_DOUBLE, MPI_SUM, world);
}
CALL(allgather) {
  UNPACK;
  MPI_Allgather(c->out, n, MPI_CHAR, c->in, n, MPI_CHAR, world);
}
CALL(gather) {
  UNPACK;
  MPI_Gather(c->out, n, MPI_CHAR, c->in, n, MPI_CHAR, root, world);
}
CALL(scatter) {
  UNPACK;
  MPI_Scatter(c->out, n, MPI_CHAR, c->in, n, MPI_CHAR, root, world);
}
CALL(alltoall) {
  UNPACK;
  MPI_Alltoall(c->out, n, MPI_CHAR, c->in, n, MPI_CHAR, world);
}
CALL(ialltoall) {
  UNPACK;
  MPI_Ialltoall(c->out, n, MPI_CHAR, c->in, n, MPI_CHAR, world, request);
}
CALL(alltoall_init) {
  UNPACK;
  MPI_Alltoall_init(c->out, n, MPI_CHAR, c->in, n, MPI_CHAR, world, MPI_INFO_NULL, request);
}

// Result is the content of a rank's result after a call with root 0; expected() compares.
typedef enum {
  kNothing,
  kRootPattern,
  kSum,
  kSumInPlace,
  kSumAtRoot,
  kSumOfMyBlock,
  kBlocks,
  kBlocksAtRoot,
  kMyBlock,
  kExchanged
} Result;

typedef struct {
  const char* name;
  void (*call)(void*, int, MPI_Request*);
  Form form;
  int rooted, reduces;
  size_t min, max;  // bytes
  int blocks;       // buffers hold a block for each rank
  Result result;
} Operation;

enum { kLargest = 2 << 20 };
static const Operation kOperations[] = {
    {"barrier", barrier, kBlocking, 0, 0, 0, 0, 0, kNothing},
    {"ibarrier", ibarrier, kNonblocking, 0, 0, 0, 0, 0, kNothing},
    {"bcast", bcast, kBlocking, 1, 0, 1, kLargest, 0, kRootPattern},
    {"ibcast", ibcast, kNonblocking, 1, 0, 1, kLargest, 0, kRootPattern},
    {"bcast_init", bcast_init, kPersistent, 1, 0, 1, kLargest, 0, kRootPattern},
    {"reduce", reduce, kBlocking, 1, 1, 8, kLargest, 0, kSumAtRoot},
    {"allreduce", allreduce, kBlocking, 0, 1, 8, kLargest, 0, kSum},
    {"allreduce_in_place", allreduce_in_place, kBlocking, 0, 1, 8, kLargest, 0, kSumInPlace},
    {"iallreduce", iallreduce, kNonblocking, 0, 1, 8, kLargest, 0, kSum},
    {"iallreduce_in_place", iallreduce_in_place, kNonblocking, 0, 1, 8, kLargest, 0, kSumInPlace},
    {"allreduce_init", allreduce_init, kPersistent, 0, 1, 8, kLargest, 0, kSum},
    {"reduce_scatter", reduce_scatter, kBlocking, 0, 1, 8, kLargest, 1, kSumOfMyBlock},
    {"reduce_scatter_block", reduce_scatter_block, kBlocking, 0, 1, 8, kLargest, 1, kSumOfMyBlock},
    {"allgather", allgather, kBlocking, 0, 0, 1, kLargest, 1, kBlocks},
    {"gather", gather, kBlocking, 1, 0, 1, kLargest, 1, kBlocksAtRoot},
    {"scatter", scatter, kBlocking, 1, 0, 1, kLargest, 1, kMyBlock},
    {"alltoall", alltoall, kBlocking, 0, 0, 1, kLargest, 1, kExchanged},
    {"ialltoall", ialltoall, kNonblocking, 0, 0, 1, kLargest, 1, kExchanged},
    {"alltoall_init", alltoall_init, kPersistent, 0, 0, 1, kLargest, 1, kExchanged},
};
enum { kOperationCount = sizeof kOperations / sizeof *kOperations };

static void repeat(void* state, long iterations) {
  Collective* c = state;
  for (long i = 0; i < iterations; ++i) {
    const int root = (int)(i % c->roots);
    MPI_Request* request = &c->requests[c->form == kPersistent ? root : 0];
    if (c->form == kPersistent)
      MPI_Start(request);
    else
      c->call(c, root, request);
    if (c->form != kBlocking) MPI_Wait(request, MPI_STATUS_IGNORE);
  }
}

static void once(void* state, long iterations) {
  Collective* c = state;
  if (c->form == kPersistent) c->call(c, 0, &c->requests[0]);
  repeat(c, iterations);
}

static void fill(const Collective* c, const Operation* op, size_t size) {
  const int rank = c->bench->rank;
  const size_t blocks = op->blocks ? (size_t)c->bench->ranks : 1;
  memset(c->in, 0, size * blocks);
  if (op->result == kRootPattern && rank == 0) bench_fill(c->in, size, 0);
  double* const values = (double*)(void*)(op->result == kSumInPlace ? c->in : c->out);
  if (op->reduces)
    for (size_t i = 0; i < (size_t)c->count * blocks; ++i) values[i] = rank + (double)(i % 1000);
  else
    for (size_t b = 0; b < blocks; ++b)
      bench_fill(c->out + b * size, size,
                 rank * 1000 + (op->result == kExchanged || op->result == kMyBlock ? (int)b : 0));
}

static void expect_sum(const Collective* c, size_t from, size_t size) {
  const int ranks = c->bench->ranks;
  for (int i = 0; i < c->count; ++i) {
    const double place = (double)((from + (size_t)i) % 1000);
    const double want = ranks * (ranks - 1) / 2.0 + ranks * place;
    if (((double*)(void*)c->in)[i] != want)
      bench_fail(c->bench, "collectives: the sum is wrong", size);
  }
}

static void expect(const Collective* c, const Operation* op, size_t size) {
  const Bench* bench = c->bench;
  const int root = bench->rank == 0;
  if (op->result == kRootPattern) bench_expect(bench, c->in, size, 0, op->name);
  if (op->result == kSum || op->result == kSumInPlace || (op->result == kSumAtRoot && root))
    expect_sum(c, 0, size);
  if (op->result == kSumOfMyBlock) expect_sum(c, (size_t)c->count * (size_t)bench->rank, size);
  if (op->result == kMyBlock) bench_expect(bench, c->in, size, bench->rank, op->name);
  if (op->result == kBlocks || op->result == kExchanged || (op->result == kBlocksAtRoot && root))
    for (int r = 0; r < bench->ranks; ++r)
      bench_expect(bench, c->in + (size_t)r * size, size,
                   r * 1000 + (op->result == kExchanged ? bench->rank : 0), op->name);
}

// lower quartile over communicators
static void measure_first(Collective* c, const Operation* op, size_t size) {
  enum { kCommunicators = 8 };
  double times[kCommunicators];
  char name[64];
  for (int i = 0; i < kCommunicators; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &c->comm);
    MPI_Barrier(MPI_COMM_WORLD);
    times[i] = bench_batch(c->bench, once, c, 1);
    if (c->form == kPersistent) MPI_Request_free(&c->requests[0]);
    MPI_Comm_free(&c->comm);
  }
  c->comm = MPI_COMM_WORLD;
  qsort(times, kCommunicators, sizeof *times, bench_by_value);
  snprintf(name, sizeof name, "%s_first", op->name);
  bench_report(c->bench, name, size, times[kCommunicators / 4] * 1e6, "us");
}

static void measure(Collective* c, const Operation* op, size_t size) {
  c->call = op->call;
  c->form = op->form;
  c->roots = op->rooted && !c->bench->fixed_root ? c->bench->ranks : 1;
  c->count = (int)(op->reduces ? size / sizeof(double) : size);
  for (int r = 0; r < c->bench->ranks; ++r) c->counts[r] = c->count;
  fill(c, op, size);
  for (int r = 0; r < c->roots && c->form == kPersistent; ++r) c->call(c, r, &c->requests[r]);
  repeat(c, 1);
  expect(c, op, size);
  if (op->result == kSumInPlace) memset(c->in, 0, size);  // repeated sums in place overflow
  const double seconds = bench_time(c->bench, repeat, c);
  bench_report(c->bench, op->name, size, seconds * 1e6, "us");
  for (int r = 0; r < c->roots && c->form == kPersistent; ++r) MPI_Request_free(&c->requests[r]);
  measure_first(c, op, size);
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, kLargest);
  if (bench.ranks > kMostRanks) bench_fail(&bench, "collectives: too many ranks", 0);
  const size_t room = bench.max * (size_t)bench.ranks;
  Collective c = {.bench = &bench,
                  .comm = MPI_COMM_WORLD,
                  .out = bench_buffer(&bench, room).base,
                  .in = bench_buffer(&bench, room).base,
                  .counts = calloc((size_t)bench.ranks, sizeof(int))};
  for (int o = 0; o < kOperationCount; ++o) {
    const Operation* op = &kOperations[o];
    if (!bench_wanted(&bench, op->name)) continue;
    const size_t least = op->min > bench.min ? op->min : bench.min,
                 most = op->max < bench.max ? op->max : bench.max;
    if (op->max == 0)
      measure(&c, op, 0);
    else
      for (size_t size = least; size <= most; size *= bench.step ? bench.step : 8)
        measure(&c, op, size);
  }
  free(c.counts);
  return bench_close();
}
