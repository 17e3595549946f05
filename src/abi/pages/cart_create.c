// SPDX-License-Identifier: Apache-2.0
// Six ranks form a grid of 3 by 2 with periodic rows. Each rank gets its coordinates and
// neighbours.
// shows: Dims_create Cart_create Cart_coords Cart_shift
// ranks: 6
// prints: rank 0 at 0,0: up -1, down 2, left 1, right 1
// prints: rank 5 at 2,1: up 3, down -1, left 4, right 4
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int dims[2] = {0, 0}, size;
  const int periodic[2] = {0, 1};
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dims);
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 1, &grid);  // 1: reorder
  int rank, at[2], up, down, left, right;
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, at);
  MPI_Cart_shift(grid, 0, 1, &up, &down);
  MPI_Cart_shift(grid, 1, 1, &left, &right);
  if (up == MPI_PROC_NULL) up = -1;  // beyond the edge
  if (down == MPI_PROC_NULL) down = -1;
  if (rank == 0 || rank == size - 1)
    printf("rank %d at %d,%d: up %d, down %d, left %d, right %d\n", rank, at[0], at[1], up, down,
           left, right);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return 0;
}
