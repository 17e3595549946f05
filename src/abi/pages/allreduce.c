// SPDX-License-Identifier: Apache-2.0
// Each rank gets the sum and the maximum of all values.
// shows: Allreduce
// ranks: 4
// prints: the sum is 10, the largest value 4
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int mine = rank + 1;
  int sum;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int largest = mine;  // in place: input, then result
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 3) printf("the sum is %d, the largest value %d\n", sum, largest);
  MPI_Finalize();
  return 0;
}
