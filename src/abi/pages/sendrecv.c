// SPDX-License-Identifier: Apache-2.0
// Ranks on a line pass a value to the right. The first rank has no left neighbour, the last no
// right neighbour.
// shows: Sendrecv
// ranks: 3
// prints: rank 0 has -1
// prints: rank 1 has 0
// prints: rank 2 has 1
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  int got = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &got, 1, MPI_INT, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  printf("rank %d has %d\n", rank, got);
  MPI_Finalize();
  return 0;
}
