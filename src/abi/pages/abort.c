// SPDX-License-Identifier: Apache-2.0
// Rank 0 aborts the job, and mpirun exits with status 3.
// shows: Abort
// ranks: 2
// expect-exit: 3
// prints: no input: the job ends
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && argc < 2) {
    printf("no input: the job ends\n");
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // rank 1 waits here until the abort
  MPI_Finalize();
  return 0;
}
