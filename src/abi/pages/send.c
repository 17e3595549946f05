// SPDX-License-Identifier: Apache-2.0
// Rank 0 sends ten numbers; rank 1 reads the count from the status.
// shows: Send Recv Get_count
// ranks: 2
// prints: rank 1 has 10 numbers from rank 0, the last is 81
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int squares[100];
  if (rank == 0) {
    for (int i = 0; i < 10; ++i) squares[i] = i * i;
    MPI_Send(squares, 10, MPI_INT, 1, 7, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Status status;
    int count;
    MPI_Recv(squares, 100, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    printf("rank 1 has %d numbers from rank %d, the last is %d\n", count, status.MPI_SOURCE,
           squares[count - 1]);
  }
  MPI_Finalize();
  return 0;
}
