// SPDX-License-Identifier: Apache-2.0
// Distributed graphs, with and without weights. With reordering, a rank has the edges of its new
// rank.
// ranks: 1 2 4 7
#include "check.h"

static int rank_in(MPI_Comm graph) {
  int place = -1;
  OK(MPI_Comm_rank(graph, &place));
  return place;
}

// The previous rank passes this rank's edges to the next rank and to rank 0.
static void check_ring(MPI_Comm graph, int weighted) {
  const int place = rank_in(graph);
  int in, out, has;
  int sources[64], destinations[64], from[64], to[64];
  OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &has));
  CHECK_EQ(has, weighted);
  CHECK_EQ(out, 2);
  CHECK_EQ(in, place == 0 ? 1 + size : 1);
  memset(from, -1, sizeof from);
  OK(MPI_Dist_graph_neighbors(graph, in, sources, weighted ? from : MPI_UNWEIGHTED, out,
                              destinations, weighted ? to : MPI_UNWEIGHTED));
  int seen[64] = {0};
  for (int i = 0; i < in; ++i) {
    ++seen[sources[i]];
    if (weighted) CHECK(from[i] == 10 * sources[i] || from[i] == 10 * sources[i] + 1);
  }
  CHECK(seen[(place + size - 1) % size] >= 1);
  if (place == 0)
    for (int i = 0; i < size; ++i) CHECK(seen[i] >= 1);
  CHECK((destinations[0] == (place + 1) % size && destinations[1] == 0) ||
        (destinations[1] == (place + 1) % size && destinations[0] == 0));
  if (weighted) CHECK_EQ(to[0] + to[1], 20 * place + 1);
  int first = -1, none[2] = {-5, -5};
  OK(MPI_Dist_graph_neighbors(graph, 1, &first, MPI_UNWEIGHTED, 0, none, MPI_UNWEIGHTED));
  CHECK_EQ(first, sources[0]);
  CHECK_EQ(none[0], -5);
}

static void by_others(int weighted, int reorder) {
  const int next = (rank + 1) % size;
  const int sources[] = {next}, degrees[] = {2}, ends[] = {(next + 1) % size, 0};
  const int weights[] = {10 * next, 10 * next + 1};
  MPI_Comm graph, copy;
  int kind;
  OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, sources, degrees, ends,
                           weighted ? weights : MPI_UNWEIGHTED, MPI_INFO_NULL, reorder, &graph));
  OK(MPI_Topo_test(graph, &kind));
  CHECK_EQ(kind, MPI_DIST_GRAPH);
  check_ring(graph, weighted);
  OK(MPI_Comm_dup(graph, &copy));
  OK(MPI_Comm_free(&graph));
  check_ring(copy, weighted);
  OK(MPI_Comm_free(&copy));
}

static void by_one(void) {
  int sources[64], degrees[64], ends[128], weights[128];
  for (int i = 0; i < size; ++i) {
    sources[i] = i;
    degrees[i] = 2;
    ends[2 * i] = (i + 1) % size;
    ends[2 * i + 1] = 0;
    weights[2 * i] = 10 * i;
    weights[2 * i + 1] = 10 * i + 1;
  }
  MPI_Comm graph;
  if (rank == 0)
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, size, sources, degrees, ends, weights, MPI_INFO_NULL,
                             1, &graph));
  else
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL,
                             1, &graph));
  check_ring(graph, 1);
  OK(MPI_Comm_free(&graph));
}

static void adjacent(int weighted, int reorder) {
  int left = (rank + size - 1) % size, right = (rank + 1) % size, weight = 7 + rank;
  int in, out, has, source = -1, end = -1, from = -1, to = -1;
  MPI_Comm graph;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, weighted ? &weight : MPI_UNWEIGHTED,
                                    1, &right, weighted ? &weight : MPI_UNWEIGHTED, MPI_INFO_NULL,
                                    reorder, &graph));
  if (!reorder) CHECK_EQ(rank_in(graph), rank);
  left = (rank_in(graph) + size - 1) % size, right = (rank_in(graph) + 1) % size;
  weight = 7 + rank_in(graph);
  OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &has));
  CHECK(in == 1 && out == 1 && has == weighted);
  OK(MPI_Dist_graph_neighbors(graph, 1, &source, &from, 1, &end, &to));
  CHECK(source == left && end == right);
  CHECK_EQ(from, weighted ? weight : -1);
  CHECK_EQ(to, weighted ? weight : -1);
  OK(MPI_Comm_free(&graph));
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
                                    MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, reorder, &graph));
  OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &has));
  CHECK(in == 0 && out == 0 && has == 1);
  OK(MPI_Comm_free(&graph));
}

static void wrong(void) {
  int one = 1, zero = 0, bad = size, negative = -1, n;
  MPI_Comm made = MPI_COMM_NULL;
  const MPI_Comm world = MPI_COMM_WORLD;
  FAILS(MPI_Dist_graph_neighbors_count(world, &n, &n, &n), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Dist_graph_neighbors(world, 0, &n, &n, 0, &n, &n), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Dist_graph_create(world, 1, &bad, &one, &zero, &one, MPI_INFO_NULL, 0, &made),
        MPI_ERR_RANK);
  FAILS(MPI_Dist_graph_create(world, 1, &zero, &one, &bad, &one, MPI_INFO_NULL, 0, &made),
        MPI_ERR_RANK);
  FAILS(MPI_Dist_graph_create(world, 1, &zero, &negative, &zero, &one, MPI_INFO_NULL, 0, &made),
        MPI_ERR_ARG);
  FAILS(MPI_Dist_graph_create(world, 1, &zero, &one, &zero, &negative, MPI_INFO_NULL, 0, &made),
        MPI_ERR_ARG);
  FAILS(MPI_Dist_graph_create(world, -1, &zero, &one, &zero, &one, MPI_INFO_NULL, 0, &made),
        MPI_ERR_ARG);
  FAILS(MPI_Dist_graph_create(world, 1, &zero, &one, &zero, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0,
                              &made),
        MPI_ERR_ARG);
  FAILS(MPI_Dist_graph_create_adjacent(world, 1, &bad, &one, 0, NULL, MPI_WEIGHTS_EMPTY,
                                       MPI_INFO_NULL, 0, &made),
        MPI_ERR_RANK);
  FAILS(MPI_Dist_graph_create_adjacent(world, 0, NULL, MPI_WEIGHTS_EMPTY, -1, NULL,
                                       MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &made),
        MPI_ERR_ARG);
  CHECK(made == MPI_COMM_NULL);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < 4; ++i) {
    by_others(i % 2, i / 2);
    adjacent(i % 2, i / 2);
  }
  by_one();
  wrong();
  return end();
}
