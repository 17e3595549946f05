// SPDX-License-Identifier: Apache-2.0
// Rank 0 polls for requests. A request with tag 1 is the last of its sender.
// shows: Iprobe
// ranks: 3
// prints: rank 0 served 4 requests of 2 ranks
#include <mpi.h>
#include <stdio.h>

enum { kWork = 0, kEnd = 1 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; rank > 0 && i < 3; ++i)
    MPI_Send(&i, 1, MPI_INT, 0, i < 2 ? kWork : kEnd, MPI_COMM_WORLD);
  int served = 0, ended = 0;
  while (rank == 0 && ended < size - 1) {
    MPI_Status status;
    int there;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
    if (!there) continue;
    MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (status.MPI_TAG == kEnd)
      ++ended;
    else
      ++served;
  }
  if (rank == 0) printf("rank 0 served %d requests of %d ranks\n", served, ended);
  MPI_Finalize();
  return 0;
}
