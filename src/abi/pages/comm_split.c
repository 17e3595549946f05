// SPDX-License-Identifier: Apache-2.0
// Even and odd ranks get separate communicators.
// shows: Comm_split Comm_free
// ranks: 4
// prints: rank 0 of the world is rank 0 of 2 even ranks
// prints: rank 1 of the world is rank 0 of 2 odd ranks
// prints: rank 2 of the world is rank 1 of 2 even ranks
// prints: rank 3 of the world is rank 1 of 2 odd ranks
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int world, rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, world % 2, world, &part);
  MPI_Comm_rank(part, &rank);
  MPI_Comm_size(part, &size);
  printf("rank %d of the world is rank %d of %d %s ranks\n", world, rank, size,
         world % 2 == 0 ? "even" : "odd");
  MPI_Comm_free(&part);
  MPI_Finalize();
  return 0;
}
