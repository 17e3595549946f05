// SPDX-License-Identifier: Apache-2.0
// Ranks on a ring exchange values with both neighbours: all operations start, then one call waits.
// shows: Waitall
// ranks: 3
// prints: rank 0: 2 and 1
// prints: rank 1: 0 and 2
// prints: rank 2: 1 and 0
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  int from_left, from_right;
  MPI_Request requests[4];
  MPI_Irecv(&from_left, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&from_right, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(&rank, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(&rank, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  printf("rank %d: %d and %d\n", rank, from_left, from_right);
  MPI_Finalize();
  return 0;
}
