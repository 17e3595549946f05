// SPDX-License-Identifier: Apache-2.0
// Each rank sends numbers to their destination ranks, after exchanging the counts.
// shows: Alltoall Alltoallv
// ranks: 2
// prints: rank 0 got the even numbers 4 2 8
// prints: rank 1 got the odd numbers 1 3 5
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // Sorted by destination: even numbers to rank 0, odd numbers to rank 1.
  const int numbers[2][3] = {{4, 1, 3}, {2, 8, 5}};
  const int out_counts[2] = {rank == 0 ? 1 : 2, rank == 0 ? 2 : 1};
  const int out_places[2] = {0, out_counts[0]};
  int in_counts[2], in[6];
  MPI_Alltoall(out_counts, 1, MPI_INT, in_counts, 1, MPI_INT, MPI_COMM_WORLD);
  const int in_places[2] = {0, in_counts[0]};
  MPI_Alltoallv(numbers[rank], out_counts, out_places, MPI_INT, in, in_counts, in_places, MPI_INT,
                MPI_COMM_WORLD);
  printf("rank %d got the %s numbers", rank, rank == 0 ? "even" : "odd");
  for (int i = 0; i < in_counts[0] + in_counts[1]; ++i) printf(" %d", in[i]);
  printf("\n");
  MPI_Finalize();
  return 0;
}
