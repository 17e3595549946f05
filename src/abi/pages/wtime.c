// SPDX-License-Identifier: Apache-2.0
// The time of a step is the time of the slowest rank; the barrier gives all ranks a common start.
// shows: Wtime Wtick Barrier Reduce
// ranks: 2
// prints: the slowest rank needed less than a minute: yes
#include <mpi.h>
#include <stdio.h>

static double work(void) {
  double sum = 0;
  for (int i = 1; i < 1000000; ++i) sum += 1.0 / i;
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  const double sum = work();
  const double mine = MPI_Wtime() - start;
  double slowest;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    fprintf(stderr, "%.6f s, to %.0e s; the sum is %g\n", slowest, MPI_Wtick(), sum);
    printf("the slowest rank needed less than a minute: %s\n", slowest < 60 ? "yes" : "no");
  }
  MPI_Finalize();
  return 0;
}
