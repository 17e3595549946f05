// SPDX-License-Identifier: Apache-2.0
// Buckets, as in training: 16 allreduces of gradients in flight, then a wait for all. The figure is
// the time of all 16 on the slowest rank, by bucket size.
#include "bench.h"

enum { kBuckets = 16, kLargest = 1 << 18 };
typedef enum { kTwoBuffers, kInPlace, kPersistent } Form;
static const char* const kNames[] = {"buckets", "buckets_in_place", "buckets_init"};

typedef struct {
  const Bench* bench;
  double *out, *in;
  int count;
  Form form;
  MPI_Request requests[kBuckets];
} Buckets;

static void start(Buckets* b, int bucket) {
  const size_t at = (size_t)bucket * (size_t)b->count;
  const void* const out = b->form == kInPlace ? MPI_IN_PLACE : (void*)(b->out + at);
  MPI_Iallreduce(out, b->in + at, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                 &b->requests[bucket]);
}

static void repeat(void* state, long iterations) {
  Buckets* b = state;
  for (long i = 0; i < iterations; ++i) {
    if (b->form == kPersistent)
      MPI_Startall(kBuckets, b->requests);
    else
      for (int bucket = 0; bucket < kBuckets; ++bucket) start(b, bucket);
    MPI_Waitall(kBuckets, b->requests, MPI_STATUSES_IGNORE);
  }
}

static void check(Buckets* b, size_t size) {
  const int ranks = b->bench->ranks, rank = b->bench->rank;
  double* const from = b->form == kInPlace ? b->in : b->out;
  const int all = kBuckets * b->count;
  for (int i = 0; i < all; ++i) b->in[i] = -1;
  for (int i = 0; i < all; ++i) from[i] = rank + i % 1000;
  repeat(b, 1);
  for (int i = 0; i < all; ++i)
    if (b->in[i] != ranks * (ranks - 1) / 2.0 + (double)ranks * (i % 1000))
      bench_fail(b->bench, "buckets: a sum is wrong", size);
  for (int i = 0; i < all; ++i) from[i] = 0;  // repeated sums in place overflow
}

static void measure(Buckets* b, size_t size) {
  b->count = (int)(size / sizeof(double));
  for (int i = 0; i < kBuckets && b->form == kPersistent; ++i) {
    const size_t at = (size_t)i * (size_t)b->count;
    MPI_Allreduce_init(b->out + at, b->in + at, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &b->requests[i]);
  }
  check(b, size);
  bench_report(b->bench, kNames[b->form], size, bench_time(b->bench, repeat, b) * 1e6, "us");
  for (int i = 0; i < kBuckets && b->form == kPersistent; ++i) MPI_Request_free(&b->requests[i]);
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, kLargest);
  const size_t room = kBuckets * bench.max;
  Buckets b = {.bench = &bench,
               .out = (double*)(void*)bench_buffer(&bench, room).base,
               .in = (double*)(void*)bench_buffer(&bench, room).base};
  for (b.form = kTwoBuffers; b.form <= kPersistent; ++b.form)
    for (size_t size = bench.min > 8 ? bench.min : 8; size <= bench.max;
         size *= bench.step ? bench.step : 8)
      if (bench_wanted(&bench, kNames[b.form])) measure(&b, size);
  return bench_close();
}
