// SPDX-License-Identifier: Apache-2.0
// Collectives of 8 B on four hosts need the rounds of a tree: rounds that wait for each other
// needlessly show as delays. The hosts share a clock, and all ranks begin at one time: a barrier
// would keep the ranks apart by up to a delay for ever. The least of 20 times counts.
//
// shapes: 4x1
// launchers: slurm
// network: delay-50ms
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kRanks = 4, kMost = 20 };
static const double kDelay = 50e-3;
static double in[kRanks], out[kRanks];
static const int kOnes[kRanks] = {1, 1, 1, 1};

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void bcast(void) { MPI_Bcast(in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void reduce(void) { MPI_Reduce(in, out, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); }
static void allreduce(void) { MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void reduce_scatter(void) {
  MPI_Reduce_scatter(in, out, kOnes, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void reduce_scatter_block(void) {
  MPI_Reduce_scatter_block(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void gather(void) { MPI_Gather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void scatter(void) { MPI_Scatter(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void allgather(void) {
  MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, MPI_COMM_WORLD);
}
static void alltoall(void) { MPI_Alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, MPI_COMM_WORLD); }
static void scan(void) { MPI_Scan(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

static const struct {
  const char* name;
  void (*run)(void);
  int rounds;
} kCases[] = {
    {"barrier", barrier, 2},
    {"bcast", bcast, 2},
    {"reduce", reduce, 2},
    {"allreduce", allreduce, 2},
    {"reduce_scatter", reduce_scatter, 2},
    {"reduce_scatter_block", reduce_scatter_block, 2},
    {"gather", gather, 2},
    {"scatter", scatter, 2},
    {"allgather", allgather, 2},
    {"alltoall", alltoall, 2},
    {"scan", scan, 2},
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static void sleep_until(double end) {
  const struct timespec at = {.tv_sec = (time_t)end, .tv_nsec = (long)((end - (time_t)end) * 1e9)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0) {
  }
}

static double seconds(void (*run)(void)) {
  double begin = now() + 3 * kDelay, mine, slowest;
  MPI_Bcast(&begin, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  sleep_until(begin);
  run();
  mine = now() - begin;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

int main(int argc, char** argv) {
  int rank, ranks, late = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != kRanks) MPI_Abort(MPI_COMM_WORLD, 2);
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    const double most = (kCases[i].rounds + 0.8) * kDelay;
    double least = seconds(kCases[i].run);
    for (int turn = 1; turn < kMost && least > most; ++turn) {
      const double again = seconds(kCases[i].run);
      if (again < least) least = again;
    }
    if (rank == 0)
      printf("%s %s: %.2f ms, at most %.2f\n", least <= most ? "right" : "late", kCases[i].name,
             least * 1e3, most * 1e3);
    late += least > most;
  }
  MPI_Finalize();
  return late != 0;
}
