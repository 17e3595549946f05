// SPDX-License-Identifier: Apache-2.0
// Progress while a rank computes: rank 1 begins its half of a transfer and computes for 20 ms. The
// figure is the time of rank 0's blocking half. A library without progress outside of calls needs
// the 20 ms.
#include "bench.h"

enum { kRounds = 15 };
static const double kCompute = 0.02;

static void compute(void) {
  volatile double sum = 0;
  for (const double begin = MPI_Wtime(); MPI_Wtime() - begin < kCompute;) sum += 1;
}

// median of the rounds
static double seconds_of(const Bench* bench, char* data, size_t size, int receives) {
  double times[kRounds];
  const int count = (int)size, peer = 1 - bench->rank;
  for (int i = 0; i < kRounds; ++i) {
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (bench->rank == 0) {
      if (receives)
        MPI_Recv(data, count, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      else
        MPI_Send(data, count, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
    } else {
      if (receives)
        MPI_Isend(data, count, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &request);
      else
        MPI_Irecv(data, count, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &request);
      compute();
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    times[i] = MPI_Wtime() - begin;
  }
  qsort(times, kRounds, sizeof *times, bench_by_value);
  return times[kRounds / 2];
}

int main(int argc, char** argv) {
  Bench bench = bench_open(argc, argv, 16u << 20);
  bench_need_ranks(&bench, 2);
  BenchBuffer data = bench_buffer(&bench, bench.max);
  for (size_t size = 64u << 10; size <= bench.max; size *= 16) {
    const double sending = seconds_of(&bench, data.base, size, 0);
    const double receiving = seconds_of(&bench, data.base, size, 1);
    bench_report(&bench, "overlap_send", size, sending * 1e6, "us");
    bench_report(&bench, "overlap_recv", size, receiving * 1e6, "us");
  }
  return bench_close();
}
