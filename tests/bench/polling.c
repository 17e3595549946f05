// SPDX-License-Identifier: Apache-2.0
// Programs that test in a loop: MPI_Iallreduce and MPI_Test, a shift round a ring with MPI_Testall,
// hops of a token found by MPI_Iprobe, and computation with a vain MPI_Iprobe each microsecond or
// so. With more ranks than cores the figures show whether a vain call yields the core to busy
// ranks.
#include "bench.h"

enum { kTag = 1, kNeverSent = 2, kPiecesOfWork = 100, kStepsOfWork = 2000 };

typedef struct {
  const Bench* bench;
  int left, right;
  uint64_t in, out;
  volatile uint64_t work;
} Loop;

static void reduce(void* state, long iterations) {
  Loop* l = state;
  for (long i = 0; i < iterations; ++i) {
    MPI_Request request;
    MPI_Iallreduce(&l->out, &l->in, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD, &request);
    for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

static void shift(void* state, long iterations) {
  Loop* l = state;
  for (long i = 0; i < iterations; ++i) {
    MPI_Request requests[2];
    MPI_Irecv(&l->in, 1, MPI_UINT64_T, l->left, kTag, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&l->out, 1, MPI_UINT64_T, l->right, kTag, MPI_COMM_WORLD, &requests[1]);
    for (int done = 0; !done;) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
  }
}

static void pass_token(void* state, long iterations) {
  Loop* l = state;
  for (long i = 0; i < iterations; ++i) {
    if (l->bench->rank == 0) MPI_Send(&l->out, 1, MPI_UINT64_T, l->right, kTag, MPI_COMM_WORLD);
    for (int here = 0; !here;) MPI_Iprobe(l->left, kTag, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
    MPI_Recv(&l->in, 1, MPI_UINT64_T, l->left, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (l->bench->rank != 0) MPI_Send(&l->in, 1, MPI_UINT64_T, l->right, kTag, MPI_COMM_WORLD);
  }
}

// The alignment is equal for each library, because a loop across two cache lines takes twice the
// time.
__attribute__((noinline, aligned(64))) static void compute(volatile uint64_t* sum) {
  for (int step = 0; step < kStepsOfWork; ++step) *sum += (uint64_t)step;
}

static void work(void* state, long iterations) {
  Loop* l = state;
  for (long i = 0; i < iterations * kPiecesOfWork; ++i) {
    compute(&l->work);
    int here;
    MPI_Iprobe(MPI_ANY_SOURCE, kNeverSent, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
  }
}

static void verify(Loop* l) {
  const uint64_t ranks = (uint64_t)l->bench->ranks, rank = (uint64_t)l->bench->rank;
  l->out = rank + 5;
  reduce(l, 1);
  if (l->in != ranks * (ranks - 1) / 2 + 5 * ranks) bench_fail(l->bench, "polling: wrong sum", 8);
  shift(l, 1);
  if (l->in != (uint64_t)l->left + 5) bench_fail(l->bench, "polling: wrong neighbour's word", 8);
  pass_token(l, 1);
  if (l->in != 5) bench_fail(l->bench, "polling: not rank 0's token", 8);
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, 8);
  bench_need_ranks(&bench, 2);
  const int ranks = bench.ranks;
  Loop l = {
      .bench = &bench, .left = (bench.rank + ranks - 1) % ranks, .right = (bench.rank + 1) % ranks};
  verify(&l);
  bench_report(&bench, "polling_iallreduce", 8, bench_time(&bench, reduce, &l) * 1e6, "us");
  bench_report(&bench, "polling_shift", 8, bench_time(&bench, shift, &l) * 1e6, "us");
  bench_report(&bench, "polling_iprobe", 8, bench_time(&bench, pass_token, &l) / ranks * 1e6, "us");
  bench_report(&bench, "polling_work", 0, bench_time(&bench, work, &l) / kPiecesOfWork * 1e6, "us");
  return bench_close();
}
