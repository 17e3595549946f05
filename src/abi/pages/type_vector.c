// SPDX-License-Identifier: Apache-2.0
// A matrix column is sent as one element and received as three contiguous numbers.
// shows: Type_vector Type_contiguous Type_commit Type_free
// ranks: 2
// prints: rank 1 has 1 5 9
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Datatype column, row;
  MPI_Type_vector(3, 1, 4, MPI_INT, &column);  // 3 blocks of 1 element, stride 4
  MPI_Type_contiguous(3, MPI_INT, &row);
  MPI_Type_commit(&column);
  MPI_Type_commit(&row);
  if (rank == 0) {
    const int matrix[3][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}};
    MPI_Send(&matrix[0][1], 1, column, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    int got[3];
    MPI_Recv(got, 1, row, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank 1 has %d %d %d\n", got[0], got[1], got[2]);
  }
  MPI_Type_free(&column);
  MPI_Type_free(&row);
  MPI_Finalize();
  return 0;
}
