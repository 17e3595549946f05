// SPDX-License-Identifier: Apache-2.0
// Each rank of a ring sends a number to its left neighbour and another to its right neighbour.
// shows: Neighbor_alltoall Cart_create
// ranks: 4
// prints: rank 0 has 32 from the left and 11 from the right
// prints: rank 1 has 2 from the left and 21 from the right
// prints: rank 2 has 12 from the left and 31 from the right
// prints: rank 3 has 22 from the left and 1 from the right
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int periodic = 1;
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  MPI_Comm_rank(ring, &rank);
  const int out[2] = {10 * rank + 1, 10 * rank + 2};  // to the left, to the right
  int in[2];
  MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring);
  printf("rank %d has %d from the left and %d from the right\n", rank, in[0], in[1]);
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return 0;
}
