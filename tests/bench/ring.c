// SPDX-License-Identifier: Apache-2.0
// A token of 8 bytes goes round all ranks: the time of one hop. With more ranks than cores the
// figure shows whether waiting ranks yield the core.
#include "bench.h"

enum { kTag = 1 };

typedef struct {
  const Bench* bench;
  uint64_t token;
} Ring;

static void go_round(void* state, long iterations) {
  Ring* r = state;
  const int rank = r->bench->rank, right = (rank + 1) % r->bench->ranks,
            left = (rank + r->bench->ranks - 1) % r->bench->ranks;
  for (long i = 0; i < iterations; ++i) {
    if (rank == 0) MPI_Send(&r->token, 8, MPI_CHAR, right, kTag, MPI_COMM_WORLD);
    MPI_Recv(&r->token, 8, MPI_CHAR, left, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) {
      ++r->token;
      MPI_Send(&r->token, 8, MPI_CHAR, right, kTag, MPI_COMM_WORLD);
    }
  }
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, 8);
  bench_need_ranks(&bench, 2);
  Ring r = {.bench = &bench};
  go_round(&r, 3);
  if (bench.rank == 0 && r.token != 3u * (unsigned)(bench.ranks - 1))
    bench_fail(&bench, "ring: the token missed a rank", 8);
  const double seconds = bench_time(&bench, go_round, &r);
  bench_report(&bench, "ring", 8, seconds / bench.ranks * 1e6, "us");
  return bench_close();
}
