// SPDX-License-Identifier: Apache-2.0
// Rank 1 works in small steps until the message arrives.
// shows: Test Irecv
// ranks: 2
// prints: rank 1 has 42, after some work: yes
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    value = 42;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Request request;
    long pieces = 0;
    int done = 0;
    MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);  // too early: rank 0 waits for this rank
    MPI_Barrier(MPI_COMM_WORLD);
    for (; !done; ++pieces) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    printf("rank 1 has %d, after some work: %s\n", value, pieces > 0 ? "yes" : "no");
  }
  MPI_Finalize();
  return 0;
}
