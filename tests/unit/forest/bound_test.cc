// SPDX-License-Identifier: Apache-2.0
// Bounds: known machines exactly, random graphs against all cuts, and graphs without a bound.
#include "coll/forest/bound.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "base/error.hpp"
#include "coll/forest/flow.hpp"
#include "tests/unit/forest/graphs.hpp"

namespace tern::coll::forest {
namespace {

using Ratio64 = std::pair<int64_t, int64_t>;

Graph graph_in(const std::string& text) { return graph_of(parse_topology(text, "test")); }

/// The largest units / capacity over all cuts, one by one.
Ratio64 largest_by_force(const Graph& graph, const std::vector<int64_t>& weights) {
  Ratio64 best{0, 1};
  for (uint32_t cut = 1; cut < uint32_t{1} << graph.nodes(); ++cut) {
    const auto in = [&](int32_t node) { return (cut >> node & 1) != 0; };
    int64_t units = 0, capacity = 0;
    bool all = true;
    for (int32_t gpu = 0; gpu < graph.gpus; ++gpu) {
      units += in(gpu) ? weights[static_cast<size_t>(gpu)] : 0;
      all = all && in(gpu);
    }
    for (const Graph::Edge& edge : graph.edges)
      if (in(edge.from) && !in(edge.to)) capacity += edge.capacity;
    if (!all && units * best.second > best.first * capacity) best = {units, capacity};
  }
  const int64_t common = std::gcd(best.first, best.second);
  return {best.first / common, best.second / common};
}

TEST(Flow, StopsWhenEnough) {
  FlowNetwork network(4);
  (void)network.add(0, 1, 3);
  (void)network.add(0, 2, 2);
  (void)network.add(1, 2, 5);
  (void)network.add(1, 3, 2);
  (void)network.add(2, 3, 4);
  EXPECT_EQ(network.run(0, 3), 5);
  EXPECT_EQ(network.run(0, 3, 4), 4);
  EXPECT_EQ(network.run(3, 0), 0);
  EXPECT_FALSE(network.on_source_side(0));
}

TEST(Flow, NamesTheSmallestSide) {
  FlowNetwork network(3);
  (void)network.add(0, 1, 1);
  const int32_t arc = network.add(1, 2, 1);
  EXPECT_EQ(network.run(0, 2), 1);
  EXPECT_TRUE(network.on_source_side(0));
  EXPECT_FALSE(network.on_source_side(1));
  network.set(arc, 0);
  EXPECT_EQ(network.run(0, 2), 0);
  EXPECT_TRUE(network.on_source_side(1));
}

TEST(Bound, OfKnownMachinesIsExact) {
  for (const KnownGraph& known : known_graphs()) {
    const Graph graph = graph_in(known.text);
    const Bound found = bound_of(graph, root_weights(Collective::kAllgather, graph.gpus, 0));
    // busbw = (N - 1) x capacity / units, in units of graph.unit kB/s.
    EXPECT_EQ((graph.gpus - 1) * found.capacity * graph.unit * known.under,
              known.bound * 1000000 * found.units)
        << known.name;
    EXPECT_EQ(cut_in_words(graph, found.cut), known.cut) << known.name;
  }
}

TEST(Bound, OfRandomGraphsIsTheLargestOfAllCuts) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    const std::string text = random_graph_text(seed, 10, seed % 2 == 1);
    const Graph graph = graph_in(text);
    for (const Collective what : {Collective::kAllgather, Collective::kReduceScatter,
                                  Collective::kBcast, Collective::kReduce}) {
      const Graph way = turned(what) ? graph.turned() : graph;
      const std::vector<int64_t> weights =
          root_weights(what, graph.gpus, static_cast<int32_t>(seed) % graph.gpus);
      const Bound found = bound_of(way, weights);
      const Ratio64 right = graph.gpus == 1 ? Ratio64{0, 1} : largest_by_force(way, weights);
      ASSERT_EQ((Ratio64{found.units, found.capacity}), right)
          << "seed " << seed << ", " << name_of(what) << "\n"
          << text;
    }
  }
}

// A root with two units and a GPU without any.
TEST(Bound, TakesUnequalRoots) {
  const Graph graph = graph_in("gpu a b c\nlink a b 10 1\nlink b c 5 1\n");
  const Bound found = bound_of(graph, {2, 0, 1});
  EXPECT_EQ(found.units * 5000000 / graph.unit, 2 * found.capacity);
  EXPECT_EQ(cut_in_words(graph, found.cut), "2 GPUs without c, 1 link of 5 GB/s");
}

TEST(Bound, OfASingleGpuIsZero) {
  const Graph graph = graph_in("gpu a\n");
  const Bound found = bound_of(graph, {1});
  EXPECT_EQ(found.units, 0);
  EXPECT_EQ(bus_bound(graph, Collective::kAllgather, 0), 0);
}

TEST(Bound, NamesAGpuWithoutALink) {
  Graph graph = graph_in("gpu a b\nlink a b 10 1\n");
  graph.edges.pop_back();
  try {
    (void)bound_of(graph, {1, 1});
    FAIL() << "b sends to none";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "no way leaves 1 GPU: b, no link: links must lead from each GPU to all");
  }
}

TEST(Bound, TakesExtremeCapacities) {
  const Graph graph = graph_in("gpu a b c\nlink a b 0.000001 1\nlink b c 500000000 1\n");
  const Bound found = bound_of(graph, {1, 1, 1});
  EXPECT_EQ(found.units, 2);
  EXPECT_EQ(found.capacity, 1);
  std::string text = "gpu g0..g9\n";
  for (int i = 0; i + 1 < 10; ++i)
    text += strf("link g%d g%d 900000000.00000%d 1\n", i, i + 1, i + 1);
  EXPECT_THROW((void)graph_in(text), Error);
}

// A file's order of links and switches does not matter, nor parallel ways.
TEST(Graph, IsTheSameInAnyOrder) {
  const Graph one =
      graph_in("gpu a b\nnode x y\nlink a x 3 1\nlink x b 4 1\nlink a y 5 1\nlink y b 6 1\n");
  const Graph other =
      graph_in("node y\nnode x\ngpu a b\nlink y b 6 1\nlink a y 5 1\nlink b x 4 1\nlink x a 3 1\n");
  EXPECT_EQ(one.names, other.names);
  EXPECT_EQ(one.edges, other.edges);
  EXPECT_EQ(one.unit, 1000000);
}

}  // namespace
}  // namespace tern::coll::forest
