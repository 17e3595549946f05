// SPDX-License-Identifier: Apache-2.0
// Persistent requests repeat the same exchange in every step.
// shows: Send_init Recv_init Start Startall Request_free
// ranks: 2
// prints: rank 0 has 12 after 3 steps
// prints: rank 1 has 11 after 3 steps
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int out = 10 + rank, in = 0;
  MPI_Request requests[2];
  MPI_Recv_init(&in, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(&out, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
  for (int step = 0; step < 3; ++step) {
    if (step == 0) {
      MPI_Startall(2, requests);
    } else {  // individually
      MPI_Start(&requests[0]);
      MPI_Start(&requests[1]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    out = in + (rank == 0 ? 1 : 0);
  }
  printf("rank %d has %d after 3 steps\n", rank, in);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Finalize();
  return 0;
}
