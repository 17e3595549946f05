// SPDX-License-Identifier: Apache-2.0
// Rank 0 distributes ten elements to three ranks; rank 0 gets the extra element.
// shows: Scatterv
// ranks: 3
// prints: rank 0 has 4 elements, from 0
// prints: rank 1 has 3 elements, from 4
// prints: rank 2 has 3 elements, from 7
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int all[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  int counts[10], places[10], mine[10];
  for (int i = 0, next = 0; i < size; next += counts[i++]) {
    counts[i] = 10 / size + (i < 10 % size ? 1 : 0);
    places[i] = next;
  }
  MPI_Scatterv(all, counts, places, MPI_INT, mine, counts[rank], MPI_INT, 0, MPI_COMM_WORLD);
  printf("rank %d has %d elements, from %d\n", rank, counts[rank], mine[0]);
  MPI_Finalize();
  return 0;
}
