// SPDX-License-Identifier: Apache-2.0
// Two ranks exchange data while computing.
// shows: Isend Irecv Wait
// ranks: 2
// prints: rank 0 has 10 1
// prints: rank 1 has 0 1
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int other = 1 - rank;
  const int mine[2] = {10 * rank, 1};
  int theirs[2];
  MPI_Request receive, send;
  MPI_Irecv(theirs, 2, MPI_INT, other, 0, MPI_COMM_WORLD, &receive);
  MPI_Isend(mine, 2, MPI_INT, other, 0, MPI_COMM_WORLD, &send);
  // Work without the two arrays goes here.
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  printf("rank %d has %d %d\n", rank, theirs[0], theirs[1]);
  MPI_Wait(&send, MPI_STATUS_IGNORE);  // now `mine` may change
  MPI_Finalize();
  return 0;
}
