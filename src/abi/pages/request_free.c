// SPDX-License-Identifier: Apache-2.0
// Rank 0 frees the request of a send, because the reply of rank 1 confirms the arrival.
// shows: Request_free Isend
// ranks: 2
// prints: rank 0 has the answer 8
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, question = 7, answer = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Request request;
    MPI_Isend(&question, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Recv(&answer, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank 0 has the answer %d\n", answer);
  } else if (rank == 1) {
    MPI_Recv(&question, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    answer = question + 1;
    MPI_Send(&answer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
