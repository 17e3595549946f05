// SPDX-License-Identifier: Apache-2.0
// Topologies: grid arithmetic, balanced dimensions, placements that reduce traffic between nodes.
#include "core/topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/topology_placement.hpp"
#include "mpi.h"

namespace tern::core {
namespace {

TEST(Cartesian, RanksAndCoordinatesAreInverse) {
  const Cartesian grid{{3, 4, 5}, {false, true, false}};
  ASSERT_EQ(grid.size(), 60);
  int expected = 0, coords[3];
  for (int x = 0; x < 3; ++x)
    for (int y = 0; y < 4; ++y)
      for (int z = 0; z < 5; ++z, ++expected) {
        grid.coords_of(expected, coords);
        EXPECT_EQ(coords[0], x);
        EXPECT_EQ(coords[1], y);
        EXPECT_EQ(coords[2], z);
        EXPECT_EQ(grid.rank_at(coords), expected);
      }
}

TEST(Cartesian, PeriodsWrapAndEdgesDoNot) {
  const Cartesian grid{{3, 4}, {false, true}};
  const int wrapped[] = {1, -5}, outside[] = {3, 0}, far[] = {2, 1000003};
  EXPECT_EQ(grid.rank_at(wrapped), 4 + 3);
  EXPECT_EQ(grid.rank_at(outside), -1);
  EXPECT_EQ(grid.rank_at(far), 8 + 3);
  EXPECT_EQ(grid.shifted(0, 0, -1), MPI_PROC_NULL);
  EXPECT_EQ(grid.shifted(8, 0, 1), MPI_PROC_NULL);
  EXPECT_EQ(grid.shifted(1, 0, 2), 9);
  EXPECT_EQ(grid.shifted(0, 1, -1), 3);
  EXPECT_EQ(grid.shifted(5, 1, 4LL * 2000000000), 5);
  EXPECT_EQ(grid.shifted(5, 1, -2147483648LL), 5);
  EXPECT_EQ(grid.shifted(7, 0, 0), 7);
}

TEST(Cartesian, WithoutDimensionsIsOneProcess) {
  const Cartesian none{{}, {}};
  EXPECT_EQ(none.size(), 1);
  EXPECT_EQ(none.rank_at(nullptr), 0);
  EXPECT_TRUE(Topology(none, 0).sources().empty());
}

TEST(Topology, NeighboursAreInTheStandardsOrder) {
  const Topology grid(Cartesian{{3, 2}, {false, true}}, 0);
  EXPECT_EQ(grid.kind(), MPI_CART);
  EXPECT_EQ(grid.sources(), (std::vector<int>{MPI_PROC_NULL, 2, 1, 1}));
  EXPECT_EQ(grid.destinations(), grid.sources());
  const Topology graph(Graph{{2, 3, 4, 6}, {1, 3, 0, 3, 0, 2}}, 3);
  EXPECT_EQ(graph.kind(), MPI_GRAPH);
  EXPECT_EQ(graph.sources(), (std::vector<int>{0, 2}));
  const Topology edges(Edges{{4, 4}, {7}, false, {}, {}}, 1);
  EXPECT_EQ(edges.kind(), MPI_DIST_GRAPH);
  EXPECT_EQ(edges.sources(), (std::vector<int>{4, 4}));
  EXPECT_EQ(edges.destinations(), (std::vector<int>{7}));
}

int least_spread(int nodes, int count, int most, int largest) {
  if (count == 1) return nodes <= most ? largest - nodes : INT32_MAX;
  int best = INT32_MAX;
  for (int d = 1; d <= nodes && d <= most; ++d)
    if (nodes % d == 0)
      best = std::min(best, least_spread(nodes / d, count - 1, d, largest == 0 ? d : largest));
  return best;
}

TEST(Dims, AreAsBalancedAsCanBe) {
  for (int nodes = 1; nodes <= 600; ++nodes)
    for (int count = 2; count <= 4; ++count) {
      const std::vector<int> dims = balanced_dims(nodes, count);
      ASSERT_EQ(dims.size(), static_cast<size_t>(count));
      EXPECT_EQ(std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<>()), nodes);
      EXPECT_TRUE(std::is_sorted(dims.rbegin(), dims.rend()));
      EXPECT_EQ(dims.front() - dims.back(), least_spread(nodes, count, nodes, 0)) << nodes;
    }
}

TEST(Dims, OfEqualSpreadsTheLargestSmallest) {
  EXPECT_EQ(balanced_dims(5040, 3), (std::vector<int>{21, 16, 15}));  // not 20 x 18 x 14
  EXPECT_EQ(balanced_dims(590520, 4), (std::vector<int>{38, 37, 21, 20}));
  EXPECT_EQ(balanced_dims(71400, 3), (std::vector<int>{51, 40, 35}));
}

TEST(Dims, LargeNumbersTakeNoTime) {
  EXPECT_EQ(balanced_dims(1000000000, 3), (std::vector<int>{1000, 1000, 1000}));
  EXPECT_EQ(balanced_dims(2147483647, 2), (std::vector<int>{2147483647, 1}));
  EXPECT_EQ(balanced_dims(1 << 30, 31).front(), 2);
  EXPECT_EQ(balanced_dims(2095133040, 4).size(), 4U);
  EXPECT_EQ(balanced_dims(2095133040, 7).size(), 7U);
  EXPECT_EQ(balanced_dims(7, 1), (std::vector<int>{7}));
}

std::vector<int> blocked(int ranks, int per_node) {
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(rank / per_node);
  return nodes;
}

void expect_permutation(Placement order) {
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<int>(i));
}

// In row order, every link between rows crosses nodes.
TEST(Placement, HalvesTheTrafficOfAGridBetweenNodes) {
  const Cartesian grid{{16, 16}, {false, false}};
  const std::vector<int> nodes = blocked(256, 16);
  const Graph graph = graph_of(grid);
  Placement plain(256);
  std::iota(plain.begin(), plain.end(), 0);
  const Placement order = place(grid, nodes);
  expect_permutation(order);
  EXPECT_EQ(crossings(graph, plain, nodes), 2 * 15 * 16);
  EXPECT_EQ(crossings(graph, order, nodes), 2 * 6 * 16);
}

TEST(Placement, KnowsPeriodsAndCyclicNodes) {
  const Cartesian grid{{8, 8, 4}, {true, true, true}};
  std::vector<int> nodes;
  for (int rank = 0; rank < 256; ++rank) nodes.push_back(rank % 8);
  const Graph graph = graph_of(grid);
  Placement plain(256);
  std::iota(plain.begin(), plain.end(), 0);
  const Placement order = place(grid, nodes);
  expect_permutation(order);
  EXPECT_LE(crossings(graph, order, nodes) * 2, crossings(graph, plain, nodes));
}

TEST(Placement, FollowsAnyGraph) {
  Graph ring;
  std::vector<int> nodes;
  for (int v = 0; v < 96; ++v) {
    ring.edges.push_back((v * 35 + 35) % 96);
    ring.index.push_back(v + 1);
    nodes.push_back(v < 60 ? v % 3 : 3);
  }
  Graph walk;
  for (int v = 0; v < 96; ++v) {
    walk.edges.push_back((v + 35) % 96);
    walk.index.push_back(v + 1);
  }
  Placement plain(96);
  std::iota(plain.begin(), plain.end(), 0);
  for (const Graph& graph : {ring, walk}) {
    const Placement order = place(graph, nodes);
    expect_permutation(order);
    EXPECT_LE(crossings(graph, order, nodes) * 2, crossings(graph, plain, nodes));
  }
}

TEST(Placement, HalvesTheTrafficOfAWeightedGraph) {
  constexpr int kRanks = 64;
  std::vector<Edges> by_rank(kRanks);
  std::vector<int> nodes;
  for (int rank = 0; rank < kRanks; ++rank) {
    Edges& edges = by_rank[static_cast<size_t>(rank)];
    edges.destinations = {(rank + 1) % kRanks, (rank + kRanks / 2) % kRanks};
    edges.destination_weights = {1, 50};
    edges.weighted = true;
    nodes.push_back(rank / 8);
  }
  const Graph graph = graph_of(by_rank);
  Placement plain(kRanks);
  std::iota(plain.begin(), plain.end(), 0);
  const Placement order = place(graph, nodes);
  expect_permutation(order);
  EXPECT_EQ(crossings(graph, plain, nodes), 8 + 50 * kRanks);
  EXPECT_LE(crossings(graph, order, nodes), 2 * 16) << "no pair is cut";
}

TEST(Placement, LeavesWhatCannotBeBetter) {
  const Cartesian line{{12}, {false}};
  Placement plain(12);
  std::iota(plain.begin(), plain.end(), 0);
  EXPECT_EQ(place(line, blocked(12, 4)), plain);
  EXPECT_EQ(place(line, blocked(12, 12)), plain);
  EXPECT_EQ(place(Cartesian{{5, 2}, {true, false}}, blocked(12, 1)).size(), 10U);
  EXPECT_TRUE(place(Graph{}, {0, 0}).empty());
}

}  // namespace
}  // namespace tern::core
