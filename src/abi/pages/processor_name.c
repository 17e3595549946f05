// SPDX-License-Identifier: Apache-2.0
// Rank 0 finds the ranks on its own host.
// shows: Get_processor_name Gather
// ranks: 3
// prints: 3 of 3 ranks are on the host of rank 0
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, length;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  MPI_Get_processor_name(name, &length);
  char(*all)[MPI_MAX_PROCESSOR_NAME] = NULL;
  if (rank == 0) all = malloc((size_t)size * sizeof *all);
  MPI_Gather(name, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0,
             MPI_COMM_WORLD);
  if (rank == 0) {
    int here = 0;
    for (int i = 0; i < size; ++i) here += strcmp(all[i], name) == 0;
    printf("%d of %d ranks are on the host of rank 0\n", here, size);
    free(all);
  }
  MPI_Finalize();
  return 0;
}
