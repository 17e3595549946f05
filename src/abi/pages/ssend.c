// SPDX-License-Identifier: Apache-2.0
// The return of the synchronous send proves to rank 0 that rank 1 has reached its receive.
// shows: Ssend
// ranks: 2
// prints: rank 1 has 5
// prints: rank 0 goes on
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    value = 5;
    MPI_Ssend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    printf("rank 0 goes on\n");
  } else if (rank == 1) {
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank 1 has %d\n", value);
  }
  MPI_Finalize();
  return 0;
}
