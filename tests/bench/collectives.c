// SPDX-License-Identifier: Apache-2.0
// Collectives by size, blocking and (as i...) nonblocking: time of one call, back to back, slowest
// rank. Size is what one rank contributes to one other: the whole vector of allreduce, reduce and
// bcast, one block of the others. The root moves on with each call, so that it cannot run ahead of
// the rest.
#include "bench.h"

typedef struct {
  const Bench* bench;
  char *out, *in;
  int count;  // bytes, or doubles where values are reduced
  void (*call)(void* state, int root, MPI_Request* request);
  int nonblocking;
} Collective;

#define CALL(name) static void name(void* state, int root, MPI_Request* request)
#define UNPACK                           \
  Collective* c = state;                 \
  const int n = c->count;                \
  const MPI_Comm world = MPI_COMM_WORLD; \
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
CALL(reduce) {
  UNPACK;
  MPI_Reduce(c->out, c->in, n, MPI_DOUBLE, MPI_SUM, root, world);
}
CALL(allreduce) {
  UNPACK;
  MPI_Allreduce(c->out, c->in, n, MPI_DOUBLE, MPI_SUM, world);
}
CALL(iallreduce) {
  UNPACK;
  MPI_Iallreduce(c->out, c->in, n, MPI_DOUBLE, MPI_SUM, world, request);
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

// What a rank holds of `in` after the call with root 0, to be compared with a pattern; see
// expected().
typedef enum {
  kNothing,
  kRootPattern,
  kSum,
  kSumAtRoot,
  kBlocks,
  kBlocksAtRoot,
  kMyBlock,
  kExchanged
} Result;

typedef struct {
  const char* name;
  void (*call)(void*, int, MPI_Request*);
  int nonblocking, reduces;
  size_t min, max;  // of the sizes that make sense
  int blocks;       // buffers hold a block for each rank
  Result result;
} Operation;

static const Operation kOperations[] = {
    {"barrier", barrier, 0, 0, 0, 0, 0, kNothing},
    {"ibarrier", ibarrier, 1, 0, 0, 0, 0, kNothing},
    {"bcast", bcast, 0, 0, 1, 4u << 20, 0, kRootPattern},
    {"ibcast", ibcast, 1, 0, 1, 4u << 20, 0, kRootPattern},
    {"reduce", reduce, 0, 1, 8, 4u << 20, 0, kSumAtRoot},
    {"allreduce", allreduce, 0, 1, 8, 4u << 20, 0, kSum},
    {"iallreduce", iallreduce, 1, 1, 8, 4u << 20, 0, kSum},
    {"allgather", allgather, 0, 0, 1, 1u << 20, 1, kBlocks},
    {"gather", gather, 0, 0, 1, 1u << 20, 1, kBlocksAtRoot},
    {"scatter", scatter, 0, 0, 1, 1u << 20, 1, kMyBlock},
    {"alltoall", alltoall, 0, 0, 1, 1u << 20, 1, kExchanged},
};
enum { kOperationCount = sizeof kOperations / sizeof *kOperations };

static void repeat(void* state, long iterations) {
  Collective* c = state;
  MPI_Request request = MPI_REQUEST_NULL;
  for (long i = 0; i < iterations; ++i) {
    c->call(c, (int)(i % c->bench->ranks), &request);
    if (c->nonblocking) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

// ---- check: one call with root 0 --------------------------------------------------------------

static void fill(const Collective* c, const Operation* op, size_t size) {
  const int rank = c->bench->rank;
  const size_t blocks = op->blocks ? (size_t)c->bench->ranks : 1;
  memset(c->in, 0, size * blocks);
  if (op->result == kRootPattern && rank == 0) bench_fill(c->in, size, 0);
  if (op->reduces)
    for (int i = 0; i < c->count; ++i) ((double*)(void*)c->out)[i] = rank + i % 1000;
  else
    for (size_t b = 0; b < blocks; ++b)
      bench_fill(c->out + b * size, size,
                 rank * 1000 + (op->result == kExchanged || op->result == kMyBlock ? (int)b : 0));
}

static void expect_sum(const Collective* c, size_t size) {
  const int ranks = c->bench->ranks;
  for (int i = 0; i < c->count; ++i) {
    const double want = ranks * (ranks - 1) / 2.0 + (double)ranks * (i % 1000);
    if (((double*)(void*)c->in)[i] != want)
      bench_fail(c->bench, "collectives: the sum is wrong", size);
  }
}

static void expect(const Collective* c, const Operation* op, size_t size) {
  const Bench* bench = c->bench;
  const int root = bench->rank == 0;
  if (op->result == kRootPattern) bench_expect(bench, c->in, size, 0, op->name);
  if (op->result == kSum || (op->result == kSumAtRoot && root)) expect_sum(c, size);
  if (op->result == kMyBlock) bench_expect(bench, c->in, size, bench->rank, op->name);
  if (op->result == kBlocks || op->result == kExchanged || (op->result == kBlocksAtRoot && root))
    for (int r = 0; r < bench->ranks; ++r)
      bench_expect(bench, c->in + (size_t)r * size, size,
                   r * 1000 + (op->result == kExchanged ? bench->rank : 0), op->name);
}

static void measure(Collective* c, const Operation* op, size_t size) {
  c->call = op->call;
  c->nonblocking = op->nonblocking;
  c->count = (int)(op->reduces ? size / sizeof(double) : size);
  fill(c, op, size);
  repeat(c, 1);
  expect(c, op, size);
  const double seconds = bench_time(c->bench, repeat, c);
  bench_report(c->bench, op->name, size, seconds * 1e6, "us");
}

static int wanted(const Bench* bench, const char* name) {
  const size_t length = strlen(name);
  for (const char* at = bench->operations; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) return 1;
  return bench->operations == NULL;
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, 4u << 20);
  const size_t bytes = (bench.max < (1u << 20) ? bench.max : (1u << 20)) * (size_t)bench.ranks;
  const size_t room = bytes > bench.max ? bytes : bench.max;
  Collective c = {.bench = &bench,
                  .out = bench_buffer(&bench, room).base,
                  .in = bench_buffer(&bench, room).base};
  for (int o = 0; o < kOperationCount; ++o) {
    const Operation* op = &kOperations[o];
    if (!wanted(&bench, op->name)) continue;
    const size_t least = op->min > bench.min ? op->min : bench.min,
                 most = op->max < bench.max ? op->max : bench.max;
    if (op->max == 0)
      measure(&c, op, 0);
    else
      for (size_t size = least; size <= most; size *= 8) measure(&c, op, size);
  }
  return bench_close();
}
