// SPDX-License-Identifier: Apache-2.0
// Each rank sends a number to every rank: rank i sends 10 * i + j to rank j.
// shows: Alltoall
// ranks: 3
// prints: rank 0 has 0 10 20
// prints: rank 1 has 1 11 21
// prints: rank 2 has 2 12 22
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, out[3], in[3];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int j = 0; j < 3; ++j) out[j] = 10 * rank + j;
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
  printf("rank %d has %d %d %d\n", rank, in[0], in[1], in[2]);
  MPI_Finalize();
  return 0;
}
