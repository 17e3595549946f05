// SPDX-License-Identifier: Apache-2.0
// The share of a nonblocking collective hidden behind computation, as defined by the OSU
// benchmarks: start, compute for the time of the collective alone, without a call into the library,
// wait. hidden % = max(0, 100 - (whole - computing) / collective alone * 100), of means over ranks.
// One figure for each size, and the mean of all sizes.
#include "bench.h"

enum { kBatches = 9, kLargest = 2 << 20 };

typedef struct {
  const Bench* bench;
  char *out, *in;
  int bytes, root;
} Buffers;

static void iallreduce(Buffers* b, MPI_Request* request) {
  MPI_Iallreduce(b->out, b->in, b->bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                 request);
}
static void ialltoall(Buffers* b, MPI_Request* request) {
  MPI_Ialltoall(b->out, b->bytes, MPI_CHAR, b->in, b->bytes, MPI_CHAR, MPI_COMM_WORLD, request);
}
static void ibcast(Buffers* b, MPI_Request* request) {
  char* data = b->bench->rank == b->root ? b->out : b->in;
  MPI_Ibcast(data, b->bytes, MPI_CHAR, b->root, MPI_COMM_WORLD, request);
}

typedef struct {
  const char *name, *mean_name;
  void (*start)(Buffers*, MPI_Request*);
} Operation;
static const Operation kOperations[] = {
    {"overlap_iallreduce", "overlap_iallreduce_mean", iallreduce},
    {"overlap_ialltoall", "overlap_ialltoall_mean", ialltoall},
    {"overlap_ibcast", "overlap_ibcast_mean", ibcast},
};

static void fill(const Buffers* b, const Operation* op) {
  const size_t all = (size_t)b->bytes * (size_t)b->bench->ranks;
  const double one = 1;
  memset(b->out, op->start == iallreduce ? 0 : b->bench->rank + 1, all);
  memset(b->in, 0, all);
  for (int at = 0; op->start == iallreduce && at < b->bytes; at += (int)sizeof one)
    memcpy(b->out + at, &one, sizeof one);
}

static void expect(const Buffers* b, const Operation* op) {
  const int ranks = b->bench->ranks, last = b->bytes - 1;
  int right = 1;
  if (op->start == iallreduce) {
    double sum;
    memcpy(&sum, b->in + b->bytes - sizeof sum, sizeof sum);
    right = sum == ranks;
  } else if (op->start == ialltoall) {
    for (int r = 0; r < ranks; ++r) right &= b->in[(size_t)r * (size_t)b->bytes] == r + 1;
  } else if (b->bench->rank != b->root) {
    right = b->in[0] == b->root + 1 && b->in[last] == b->root + 1;
  }
  if (!right) bench_fail(b->bench, op->name, (size_t)b->bytes);
}

static double compute(double seconds) {
  volatile double sum = 0;
  const double begin = MPI_Wtime();
  double now = begin;
  while (seconds > 0 && now - begin < seconds) {
    for (int i = 0; i < 20; ++i) sum += 1;
    now = MPI_Wtime();
  }
  return now - begin;
}

// Seconds of start, computation and wait, and of the computation alone: sums over calls.
typedef struct {
  double whole, computing;
} Times;

static Times calls(Buffers* b, const Operation* op, long count, double computing) {
  Times sum = {0, 0};
  for (long i = 0; i < count; ++i) {
    MPI_Request request;
    b->root = (int)(i % b->bench->ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    op->start(b, &request);
    sum.computing += compute(computing);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sum.whole += MPI_Wtime() - begin;
  }
  return sum;
}

static double mean_over_ranks(const Bench* bench, double mine) {
  double sum = mine, other;
  for (int r = 1; bench->rank == 0 && r < bench->ranks; ++r) {
    MPI_Recv(&other, 1, MPI_DOUBLE, r, kControlTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += other;
  }
  if (bench->rank != 0) MPI_Send(&mine, 1, MPI_DOUBLE, 0, kControlTag, MPI_COMM_WORLD);
  sum /= bench->ranks;
  MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return sum;
}

static double hidden_in_batch(Buffers* b, const Operation* op, long count) {
  const double n = (double)count;
  const double alone = mean_over_ranks(b->bench, calls(b, op, count, 0).whole / n);
  const Times both = calls(b, op, count, alone);
  const double rest = mean_over_ranks(b->bench, (both.whole - both.computing) / n);
  const double hidden = 100 - rest / alone * 100;
  return hidden > 0 ? hidden : 0;
}

// hidden_share() is the median over batches; all batches together take about the budget.
static double hidden_share(Buffers* b, const Operation* op) {
  double shares[kBatches];
  calls(b, op, 3, 0);
  expect(b, op);
  const double once = mean_over_ranks(b->bench, calls(b, op, 3, 0).whole / 3);
  const double fitting = b->bench->seconds / kBatches / (3 * once);
  const long count = fitting < 2 ? 2 : (long)fitting;
  for (int i = 0; i < kBatches; ++i) shares[i] = hidden_in_batch(b, op, count);
  qsort(shares, kBatches, sizeof *shares, bench_by_value);
  return shares[kBatches / 2];
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, kLargest);
  const size_t room = bench.max * (size_t)bench.ranks;
  Buffers b = {.bench = &bench,
               .out = bench_buffer(&bench, room).base,
               .in = bench_buffer(&bench, room).base};
  for (size_t o = 0; o < sizeof kOperations / sizeof *kOperations; ++o) {
    const Operation* op = &kOperations[o];
    if (bench.operations && !strstr(bench.operations, op->name)) continue;
    double sum = 0;
    int sizes = 0;
    for (size_t size = 8; size <= bench.max; size *= 8, ++sizes) {
      b.bytes = (int)size;
      fill(&b, op);
      const double hidden = hidden_share(&b, op);
      bench_report(&bench, op->name, size, hidden, "%hidden");
      sum += hidden;
    }
    bench_report(&bench, op->mean_name, 0, sum / sizes, "%hidden");
  }
  return bench_close();
}
