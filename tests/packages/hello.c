// SPDX-License-Identifier: Apache-2.0
// Prints rank, size, the sum of all ranks and the library's name: one line per rank.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank = 0, size = 0, sum = 0, length = 0;
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Get_library_version(library, &length);
  printf("rank %d of %d, sum %d, %.4s\n", rank, size, sum, library);
  return MPI_Finalize();
}
