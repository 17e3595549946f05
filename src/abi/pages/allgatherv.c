// SPDX-License-Identifier: Apache-2.0
// Each rank gets all elements; rank i contributes i + 1.
// shows: Allgatherv Allgather
// ranks: 2
// prints: rank 0 has: 0 10 11
// prints: rank 1 has: 0 10 11
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int count = rank + 1, mine[2] = {10 * rank, 10 * rank + 1};
  int counts[2], all[3];
  MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
  const int places[2] = {0, counts[0]};
  MPI_Allgatherv(mine, count, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
  printf("rank %d has: %d %d %d\n", rank, all[0], all[1], all[2]);
  MPI_Finalize();
  return 0;
}
