/* SPDX-License-Identifier: Apache-2.0
 * Each rank has a matrix in the memory of a GPU, or of the host without one. The matrices
 * are summed, and a column goes to the next rank. The calls are the same for both memories.
 * expect-stdout: rank 0: (host memory: |memory of GPU \d)
 * expect-stdout: the sums and columns of all \d+ ranks are right */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

enum { kRows = 1000, kColumns = 500, kLineTag = 1, kColumnTag = 2 };
#define MATRIX_BYTES (sizeof(double) * kRows * kColumns)

/* An element before the sum. */
static double element(int rank, int row, int column) {
  return (rank + 1.0) * (row * kColumns + column);
}

/* Sums the matrices of all ranks, then replaces the first column by the previous rank's last one.
 * `matrix` may lie in host or GPU memory. */
static void communicate(double* matrix, int rank, int size) {
  MPI_Datatype column;
  MPI_Type_vector(kRows, 1, kColumns, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  MPI_Allreduce(MPI_IN_PLACE, matrix, kRows * kColumns, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Sendrecv(matrix + kColumns - 1, 1, column, (rank + 1) % size, kColumnTag, matrix, 1, column,
               (rank + size - 1) % size, kColumnTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&column);
}

/* The number of wrong elements. All sums are integers, hence exact. */
static int count_wrong(const double* matrix, int size) {
  int wrong = 0;
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column) {
      const int from = column == 0 ? kColumns - 1 : column;
      const double sum = element(0, row, from) * size * (size + 1) / 2;
      wrong += matrix[row * kColumns + column] != sum;
    }
  return wrong;
}

/* Rank 0 prints all ranks' lines in order. */
static void print_in_order(char* line, int length, int rank, int size) {
  if (rank != 0) MPI_Send(line, length, MPI_CHAR, 0, kLineTag, MPI_COMM_WORLD);
  for (int source = 0; rank == 0 && source < size; ++source) {
    if (source != 0)
      MPI_Recv(line, length, MPI_CHAR, source, kLineTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d: %s\n", source, line);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, local_rank, wrong;
  char where[200];
  MPI_Comm host;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &local_rank);
  MPI_Comm_free(&host);

  choose_memory(local_rank, where, sizeof where);
  double* const matrix = new_memory(MATRIX_BYTES);
  double* const on_host = malloc(MATRIX_BYTES);
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column)
      on_host[row * kColumns + column] = element(rank, row, column);
  copy_memory(matrix, on_host, MATRIX_BYTES);

  communicate(matrix, rank, size);

  copy_memory(on_host, matrix, MATRIX_BYTES);
  wrong = count_wrong(on_host, size);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  print_in_order(where, sizeof where, rank, size);
  if (rank == 0 && wrong == 0)
    printf("the sums and columns of all %d ranks are right\n", size);
  else if (rank == 0)
    fprintf(stderr, "gpu: %d elements are wrong\n", wrong);
  free(on_host);
  free_memory(matrix);
  MPI_Finalize();
  return wrong != 0;
}
