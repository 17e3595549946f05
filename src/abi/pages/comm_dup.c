// SPDX-License-Identifier: Apache-2.0
// A library communicates on a duplicate of the caller's communicator, so that its wildcard receive
// cannot match a message of the caller.
// shows: Comm_dup Comm_free
// ranks: 2
// prints: rank 1: the library got 2, the program 1
#include <mpi.h>
#include <stdio.h>

static int library_exchange(MPI_Comm of_caller, int rank) {
  MPI_Comm own;
  MPI_Comm_dup(of_caller, &own);
  int value = rank == 0 ? 2 : 0;
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, own);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, own, MPI_STATUS_IGNORE);
  MPI_Comm_free(&own);
  return value;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    value = 1;
    MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);  // received later
  }
  const int of_library = library_exchange(MPI_COMM_WORLD, rank);
  if (rank == 1) {
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank 1: the library got %d, the program %d\n", of_library, value);
  }
  MPI_Finalize();
  return 0;
}
