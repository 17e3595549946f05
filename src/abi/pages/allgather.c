// SPDX-License-Identifier: Apache-2.0
// Each rank gets the number of elements of every rank.
// shows: Allgather
// ranks: 3
// prints: rank 0 knows: 1 2 3
// prints: rank 1 knows: 1 2 3
// prints: rank 2 knows: 1 2 3
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, all[3];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int mine = rank + 1;
  MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  printf("rank %d knows: %d %d %d\n", rank, all[0], all[1], all[2]);
  MPI_Finalize();
  return 0;
}
