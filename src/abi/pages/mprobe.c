// SPDX-License-Identifier: Apache-2.0
// A matched probe lets several threads receive messages of unknown length; here one thread.
// shows: Mprobe Mrecv Get_count
// ranks: 2
// prints: rank 1 has 3 numbers
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    const int numbers[3] = {1, 2, 3};
    MPI_Send(numbers, 3, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Message message;
    MPI_Status status;
    int count, numbers[10];
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    if (count > 10) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Mrecv(numbers, count, MPI_INT, &message, MPI_STATUS_IGNORE);
    printf("rank 1 has %d numbers\n", count);
  }
  MPI_Finalize();
  return 0;
}
