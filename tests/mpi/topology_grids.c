// SPDX-License-Identifier: Apache-2.0
// Cartesian and graph topologies: create, query, split, copy; MPI_Dims_create.
// ranks: 1 2 4 6 8
#include "check.h"

static int kind_of(MPI_Comm comm) {
  int kind = -1;
  OK(MPI_Topo_test(comm, &kind));
  return kind;
}

static void check_shift(MPI_Comm grid, int direction, int disp) {
  int from, to, in = -1, me, mine[3], theirs[3];
  OK(MPI_Comm_rank(grid, &me));
  OK(MPI_Cart_shift(grid, direction, disp, &from, &to));
  OK(MPI_Sendrecv(&me, 1, MPI_INT, to, 1, &in, 1, MPI_INT, from, 1, grid, MPI_STATUS_IGNORE));
  CHECK_EQ(in, from == MPI_PROC_NULL ? -1 : from);
  if (from == MPI_PROC_NULL) return;
  int dims[3], periods[3], n;
  OK(MPI_Cartdim_get(grid, &n));
  OK(MPI_Cart_get(grid, 3, dims, periods, mine));
  OK(MPI_Cart_coords(grid, from, 3, theirs));
  for (int i = 0; i < n; ++i) {
    const int step = i == direction ? disp : 0;
    CHECK_EQ(((mine[i] - theirs[i] - step) % dims[i] + dims[i]) % dims[i], 0);
  }
}

static void grids(int reorder) {
  int dims[2] = {0, 0}, periods[2] = {1, 0}, got[2], wraps[2], coords[2], me, n = -1;
  MPI_Comm grid, copy;
  OK(MPI_Dims_create(size, 2, dims));
  CHECK_EQ(dims[0] * dims[1], size);
  CHECK(dims[0] >= dims[1]);
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, &grid));
  OK(MPI_Comm_dup(grid, &copy));
  OK(MPI_Comm_free(&grid));
  CHECK_EQ(kind_of(copy), MPI_CART);
  OK(MPI_Cartdim_get(copy, &n));
  CHECK_EQ(n, 2);
  OK(MPI_Comm_rank(copy, &me));
  if (!reorder) CHECK_EQ(me, rank);
  OK(MPI_Cart_get(copy, 2, got, wraps, coords));
  CHECK(got[0] == dims[0] && got[1] == dims[1] && wraps[0] == 1 && wraps[1] == 0);
  CHECK_EQ(coords[0] * dims[1] + coords[1], me);
  coords[0] -= 3 * dims[0];
  OK(MPI_Cart_rank(copy, coords, &n));
  CHECK_EQ(n, me);
  for (int direction = 0; direction < 2; ++direction)
    for (int disp = -3; disp <= 3; ++disp) check_shift(copy, direction, disp);
  OK(MPI_Comm_free(&copy));
}

static void parts(void) {
  int dims[2] = {size >= 4 ? 2 : 1, size >= 4 ? size / 2 : size}, periods[2] = {0, 1};
  int keep[2] = {0, 1}, none[2] = {0, 0}, n, me, value, wraps, coord;
  MPI_Comm grid, row, point, again;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid));
  if (grid == MPI_COMM_NULL) return;
  OK(MPI_Cart_sub(grid, keep, &row));
  OK(MPI_Cart_get(row, 1, &value, &wraps, &coord));
  CHECK_EQ(value, dims[1]);
  CHECK_EQ(wraps, 1);
  OK(MPI_Comm_rank(row, &me));
  CHECK_EQ(me, rank % dims[1]);
  CHECK_EQ(coord, me);
  OK(MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_MIN, row));
  CHECK_EQ(value, rank - me);
  OK(MPI_Cart_sub(grid, none, &point));
  OK(MPI_Comm_size(point, &n));
  CHECK_EQ(n, 1);
  OK(MPI_Cartdim_get(point, &n));
  CHECK_EQ(n, 0);
  OK(MPI_Cart_sub(point, NULL, &again));
  CHECK_EQ(kind_of(again), MPI_CART);
  OK(MPI_Cart_rank(again, NULL, &n));
  CHECK_EQ(n, 0);
  OK(MPI_Comm_free(&again));
  OK(MPI_Comm_free(&point));
  OK(MPI_Comm_free(&row));
  OK(MPI_Comm_free(&grid));
}

static void smaller_than_comm(void) {
  int dims[1] = {size > 1 ? size - 1 : 1}, periods[1] = {0}, n = -7;
  MPI_Comm made;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &made));
  CHECK_EQ(made == MPI_COMM_NULL, rank >= dims[0]);
  if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
  OK(MPI_Cart_map(MPI_COMM_WORLD, 1, dims, periods, &n));
  if (rank >= dims[0]) CHECK_EQ(n, MPI_UNDEFINED);
  OK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &made));
  CHECK_EQ(made == MPI_COMM_NULL, rank != 0);
  if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
}

static void graphs(int reorder) {
  int index[64], edges[130], count = 0, got[130], got_index[64], n, m, me;
  MPI_Comm graph, copy;
  edges[count++] = 0;
  for (int i = 0; i < size; ++i) {
    edges[count++] = (i + 1) % size;
    edges[count++] = (i + size - 1) % size;
    index[i] = count;
  }
  OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, reorder, &graph));
  OK(MPI_Comm_dup(graph, &copy));
  OK(MPI_Comm_free(&graph));
  CHECK_EQ(kind_of(copy), MPI_GRAPH);
  OK(MPI_Graphdims_get(copy, &n, &m));
  CHECK_EQ(n, size);
  CHECK_EQ(m, count);
  OK(MPI_Graph_get(copy, n, m, got_index, got));
  CHECK(memcmp(got, edges, sizeof(int) * (size_t)count) == 0);
  CHECK(memcmp(got_index, index, sizeof(int) * (size_t)size) == 0);
  OK(MPI_Comm_rank(copy, &me));
  OK(MPI_Graph_neighbors_count(copy, me, &n));
  CHECK_EQ(n, me == 0 ? 3 : 2);
  OK(MPI_Graph_neighbors(copy, me, n, got));
  CHECK_EQ(got[n - 2], (me + 1) % size);
  OK(MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &n));
  CHECK(n >= 0 && n < size);
  OK(MPI_Comm_free(&copy));
  OK(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &graph));
  CHECK(graph == MPI_COMM_NULL);
  const int none = 0;
  OK(MPI_Graph_create(MPI_COMM_WORLD, 1, &none, NULL, 0, &graph));
  CHECK_EQ(graph == MPI_COMM_NULL, rank != 0);
  if (graph != MPI_COMM_NULL) OK(MPI_Comm_free(&graph));
}

static void dims_like(int nodes, int n, const int* in, const int* expected) {
  int dims[8];
  memcpy(dims, in, sizeof(int) * (size_t)n);
  OK(MPI_Dims_create(nodes, n, dims));
  for (int i = 0; i < n; ++i) CHECK_EQ(dims[i], expected[i]);
}

static void dimensions(void) {
  dims_like(6, 2, (int[]){0, 0}, (int[]){3, 2});
  dims_like(7, 2, (int[]){0, 0}, (int[]){7, 1});
  dims_like(6, 3, (int[]){0, 3, 0}, (int[]){2, 3, 1});
  dims_like(36, 3, (int[]){0, 0, 0}, (int[]){4, 3, 3});
  dims_like(6, 2, (int[]){2, 3}, (int[]){2, 3});
  dims_like(1000000000, 3, (int[]){0, 0, 0}, (int[]){1000, 1000, 1000});
  OK(MPI_Dims_create(1, 0, NULL));
  int wrong[2] = {4, 0}, negative[2] = {-1, 0}, full[2] = {2, 2};
  FAILS(MPI_Dims_create(6, 2, wrong), MPI_ERR_DIMS);
  FAILS(MPI_Dims_create(6, 2, negative), MPI_ERR_DIMS);
  FAILS(MPI_Dims_create(6, 2, full), MPI_ERR_DIMS);
  FAILS(MPI_Dims_create(6, -1, full), MPI_ERR_DIMS);
  FAILS(MPI_Dims_create(0, 1, wrong), MPI_ERR_ARG);
}

static void wrong_arguments(void) {
  int n, values[8] = {0}, big[2] = {size, 2}, zero[1] = {0}, dims[1], periods[1] = {0};
  MPI_Comm made = MPI_COMM_NULL, grid;
  dims[0] = size;
  CHECK_EQ(kind_of(MPI_COMM_WORLD), MPI_UNDEFINED);
  FAILS(MPI_Cartdim_get(MPI_COMM_WORLD, &n), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Cart_get(MPI_COMM_WORLD, 2, values, values, values), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Cart_rank(MPI_COMM_WORLD, values, &n), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Cart_coords(MPI_COMM_WORLD, 0, 2, values), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Cart_shift(MPI_COMM_WORLD, 0, 1, &n, &n), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Cart_sub(MPI_COMM_WORLD, values, &made), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Graphdims_get(MPI_COMM_WORLD, &n, &n), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Graph_get(MPI_COMM_WORLD, 2, 2, values, values), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Graph_neighbors(MPI_COMM_WORLD, 0, 2, values), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Graph_neighbors_count(MPI_COMM_WORLD, 0, &n), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Cart_create(MPI_COMM_WORLD, 2, big, values, 0, &made), MPI_ERR_DIMS);
  FAILS(MPI_Cart_create(MPI_COMM_WORLD, 1, zero, values, 0, &made), MPI_ERR_DIMS);
  FAILS(MPI_Cart_create(MPI_COMM_WORLD, -1, zero, values, 0, &made), MPI_ERR_DIMS);
  FAILS(MPI_Graph_create(MPI_COMM_WORLD, size + 1, values, values, 0, &made), MPI_ERR_ARG);
  FAILS(MPI_Graph_create(MPI_COMM_WORLD, 1, (int[]){1}, (int[]){1}, 0, &made), MPI_ERR_ARG);
  FAILS(MPI_Graph_create(MPI_COMM_WORLD, 1, (int[]){-1}, (int[]){1}, 0, &made), MPI_ERR_ARG);
  CHECK(made == MPI_COMM_NULL);
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &grid));
  FAILS(MPI_Cart_shift(grid, 1, 1, &n, &n), MPI_ERR_DIMS);
  FAILS(MPI_Cart_shift(grid, -1, 1, &n, &n), MPI_ERR_DIMS);
  values[0] = size;
  FAILS(MPI_Cart_rank(grid, values, &n), MPI_ERR_ARG);
  FAILS(MPI_Cart_coords(grid, size, 1, values), MPI_ERR_RANK);
  FAILS(MPI_Cart_coords(grid, 0, 0, values), MPI_ERR_ARG);
  FAILS(MPI_Graphdims_get(grid, &n, &n), MPI_ERR_TOPOLOGY);
  OK(MPI_Comm_free(&grid));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int reorder = 0; reorder < 2; ++reorder) grids(reorder);
  parts();
  smaller_than_comm();
  for (int reorder = 0; reorder < 2; ++reorder) graphs(reorder);
  dimensions();
  wrong_arguments();
  return end();
}
