// SPDX-License-Identifier: Apache-2.0
// Rank 0 takes results in order of arrival.
// shows: Waitany Irecv
// ranks: 3
// prints: result 1: 10
// prints: result 2: 20
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank > 0) {
    const int result = 10 * rank;
    MPI_Send(&result, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  } else {
    int results[2];
    MPI_Request requests[2];
    for (int i = 0; i < 2; ++i)
      MPI_Irecv(&results[i], 1, MPI_INT, i + 1, 0, MPI_COMM_WORLD, &requests[i]);
    for (int left = 2; left > 0; --left) {
      int at;
      MPI_Waitany(2, requests, &at, MPI_STATUS_IGNORE);
      printf("result %d: %d\n", at + 1, results[at]);
    }
  }
  MPI_Finalize();
  return 0;
}
