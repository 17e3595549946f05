// SPDX-License-Identifier: Apache-2.0
// Each rank prints its rank and the number of ranks.
// shows: Init Finalize Comm_rank Comm_size
// ranks: 3
// prints: rank 0 of 3
// prints: rank 1 of 3
// prints: rank 2 of 3
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("rank %d of %d\n", rank, size);
  MPI_Finalize();
  return 0;
}
