// SPDX-License-Identifier: Apache-2.0
// Rank 1 probes the length of the next message before allocating memory.
// shows: Probe Get_count
// ranks: 2
// prints: rank 1 has 5 numbers from rank 0 with the tag 3
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    const double numbers[5] = {1, 2, 3, 4, 5};
    MPI_Send(numbers, 5, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Status status;
    int count;
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    double* numbers = malloc((size_t)count * sizeof *numbers);
    MPI_Recv(numbers, count, MPI_DOUBLE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    printf("rank 1 has %d numbers from rank %d with the tag %d\n", count, status.MPI_SOURCE,
           status.MPI_TAG);
    free(numbers);
  }
  MPI_Finalize();
  return 0;
}
