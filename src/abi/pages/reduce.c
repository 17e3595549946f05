// SPDX-License-Identifier: Apache-2.0
// Each rank sums a part of a series; rank 0 gets the total, pi.
// shows: Reduce
// ranks: 4
// prints: pi is 3.14159
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double part = 0, pi = 0;
  for (int i = rank; i < 1000000; i += size) part += (i % 2 == 0 ? 4.0 : -4.0) / (2 * i + 1);
  MPI_Reduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("pi is %.5f\n", pi);
  MPI_Finalize();
  return 0;
}
