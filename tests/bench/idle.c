// SPDX-License-Identifier: Apache-2.0
// The cost of waiting: rank 0 sleeps outside MPI while the other ranks wait in MPI_Recv, then in
// MPI_Barrier. Prints the processor time of all waiting ranks in percent of one core, and the time
// until all ranks have answered.
#include "bench.h"

enum { kTag = 1, kAnswerTag = 2 };

static double processor_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// seconds from the first message until the last answer, on rank 0
static double wait_in_recv(const Bench* bench) {
  char byte = 0;
  if (bench->rank != 0) {
    MPI_Recv(&byte, 1, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&byte, 1, MPI_CHAR, 0, kAnswerTag, MPI_COMM_WORLD);
    return 0;
  }
  usleep((useconds_t)(bench->seconds * 1e6));
  const double start = MPI_Wtime();
  for (int r = 1; r < bench->ranks; ++r) MPI_Send(&byte, 1, MPI_CHAR, r, kTag, MPI_COMM_WORLD);
  for (int r = 1; r < bench->ranks; ++r)
    MPI_Recv(&byte, 1, MPI_CHAR, r, kAnswerTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return MPI_Wtime() - start;
}

static double wait_in_barrier(const Bench* bench) {
  if (bench->rank == 0) usleep((useconds_t)(bench->seconds * 1e6));
  const double start = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  return bench->rank == 0 ? MPI_Wtime() - start : 0;
}

static void measure(const Bench* bench, double (*wait)(const Bench*), const char* share_name,
                    const char* wake_name) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double before = processor_seconds(), start = MPI_Wtime();
  const double wake = wait(bench);
  const double wall = MPI_Wtime() - start;
  double used = bench->rank == 0 ? 0 : processor_seconds() - before, sum = 0;
  MPI_Reduce(&used, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  bench_report(bench, share_name, 0, sum / wall * 100, "%");
  bench_report(bench, wake_name, 0, wake * 1e6, "us");
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, 1);
  bench_need_ranks(&bench, 2);
  measure(&bench, wait_in_recv, "idle_recv", "idle_recv_wake");
  measure(&bench, wait_in_barrier, "idle_barrier", "idle_barrier_wake");
  return bench_close();
}
