// SPDX-License-Identifier: Apache-2.0
// Rank 0 distributes an array in equal blocks.
// shows: Scatter
// ranks: 3
// prints: rank 0 has 0 1
// prints: rank 1 has 2 3
// prints: rank 2 has 4 5
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, mine[2];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int all[6] = {0, 1, 2, 3, 4, 5};  // significant only at rank 0
  MPI_Scatter(all, 2, MPI_INT, mine, 2, MPI_INT, 0, MPI_COMM_WORLD);
  printf("rank %d has %d %d\n", rank, mine[0], mine[1]);
  MPI_Finalize();
  return 0;
}
