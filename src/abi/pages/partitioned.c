// SPDX-License-Identifier: Apache-2.0
// Rank 0 sends each of four partitions when it is filled; rank 1 uses partitions as they arrive.
// shows: Psend_init Precv_init Pready Parrived Start
// ranks: 2
// prints: rank 1: the sum of 4 partitions is 28
#include <mpi.h>
#include <stdio.h>

enum { kPartitions = 4, kEach = 2 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, data[kPartitions * kEach];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Request request;
  if (rank == 0) {
    MPI_Psend_init(data, kPartitions, kEach, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request);
    MPI_Start(&request);
    for (int part = kPartitions - 1; part >= 0; --part) {  // in any order
      for (int i = 0; i < kEach; ++i) data[part * kEach + i] = part * kEach + i;
      MPI_Pready(part, request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  } else if (rank == 1) {
    int sum = 0;
    MPI_Precv_init(data, kPartitions, kEach, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request);
    MPI_Start(&request);
    for (int part = 0; part < kPartitions; ++part) {
      for (int there = 0; !there;) MPI_Parrived(request, part, &there);
      for (int i = 0; i < kEach; ++i) sum += data[part * kEach + i];
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    printf("rank 1: the sum of %d partitions is %d\n", kPartitions, sum);
  }
  MPI_Finalize();
  return 0;
}
