// SPDX-License-Identifier: Apache-2.0
// From the number of its elements each rank computes their global offset.
// shows: Scan Exscan
// ranks: 3
// prints: rank 0: elements 0 to 2
// prints: rank 1: elements 3 to 6
// prints: rank 2: elements 7 to 11
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int count = rank + 3;
  int before = 0, up_to = 0;  // MPI_Exscan leaves rank 0 unset
  MPI_Exscan(&count, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Scan(&count, &up_to, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d: elements %d to %d\n", rank, before, up_to - 1);
  MPI_Finalize();
  return 0;
}
