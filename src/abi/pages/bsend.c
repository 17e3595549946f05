// SPDX-License-Identifier: Apache-2.0
// Both ranks send before receiving; the attached buffer holds the messages.
// shows: Bsend Buffer_attach Buffer_detach Pack_size
// ranks: 2
// prints: rank 0 has 1
// prints: rank 1 has 0
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, got, bytes;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &bytes);
  bytes += MPI_BSEND_OVERHEAD;
  void* room = malloc((size_t)bytes);
  MPI_Buffer_attach(room, bytes);
  MPI_Bsend(&rank, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
  MPI_Recv(&got, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("rank %d has %d\n", rank, got);
  MPI_Buffer_detach(&room, &bytes);  // waits until the message has left
  free(room);
  MPI_Finalize();
  return 0;
}
