// SPDX-License-Identifier: Apache-2.0
// Rank 0 reads the parameters and broadcasts them.
// shows: Bcast
// ranks: 3
// prints: rank 0: 100 steps of 0.5
// prints: rank 1: 100 steps of 0.5
// prints: rank 2: 100 steps of 0.5
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, steps = 0;
  double width = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {  // as if from a file
    steps = 100;
    width = 0.5;
  }
  MPI_Bcast(&steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(&width, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  printf("rank %d: %d steps of %g\n", rank, steps, width);
  MPI_Finalize();
  return 0;
}
