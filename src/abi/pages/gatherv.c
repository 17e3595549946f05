// SPDX-License-Identifier: Apache-2.0
// Rank i has i + 1 elements. Rank 0 first gathers the counts, then all elements without gaps.
// shows: Gather Gatherv
// ranks: 3
// prints: rank 0 has: 0 10 11 20 21 22
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int count = rank + 1;
  int mine[8], counts[8], places[8], all[36];
  for (int i = 0; i < count; ++i) mine[i] = 10 * rank + i;
  MPI_Gather(&count, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
  int sum = 0;
  for (int i = 0; rank == 0 && i < size; ++i) {
    places[i] = sum;
    sum += counts[i];
  }
  MPI_Gatherv(mine, count, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("rank 0 has:");
    for (int i = 0; i < sum; ++i) printf(" %d", all[i]);
    printf("\n");
  }
  MPI_Finalize();
  return 0;
}
