// SPDX-License-Identifier: Apache-2.0
// A nonblocking sum overlaps other work.
// shows: Iallreduce Wait
// ranks: 3
// prints: the sum is 6
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, sum;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int mine = rank + 1;
  MPI_Request request;
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  // Work without `mine` and `sum` goes here.
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 0) printf("the sum is %d\n", sum);
  MPI_Finalize();
  return 0;
}
