// SPDX-License-Identifier: Apache-2.0
// Forests: certified on known machines and random graphs, refused after every fault, the same from
// any order of the text.
#include "coll/forest/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "coll/forest/form.hpp"
#include "coll/forest/hierarchy.hpp"
#include "coll/forest/pack.hpp"
#include "coll/forest/split.hpp"
#include "tests/unit/forest/graphs.hpp"

namespace tern::coll::forest {
namespace {

constexpr Collective kCollectivesWithForests[] = {
    Collective::kAllgather, Collective::kReduceScatter, Collective::kBcast, Collective::kReduce};

Topology machine(const char* name) {
  for (const KnownGraph& known : known_graphs())
    if (std::string(known.name) == name) return parse_topology(known.text, name);
  throw Error(1, name);
}

TEST(Forest, OfKnownMachinesIsNearTheBound) {
  for (const KnownGraph& known : known_graphs()) {
    const Topology topology = parse_topology(known.text, known.name);
    for (const Collective what : kCollectivesWithForests) {
      const Forest made = make_forest(topology, what, 1);
      EXPECT_EQ(certify(made, topology), "") << known.name << ", " << name_of(what);
      EXPECT_GE(made.share(), 0.97) << known.name << ", " << name_of(what);
      EXPECT_LE(made.share(), 1) << known.name << ", " << name_of(what);
      EXPECT_LE(made.k, kMostTrees);
      const bool hosts = known.name[1] == 'x';
      if (what == Collective::kAllgather && topology.ranks() >= 16) {
        EXPECT_LE(depth_of(made), hosts ? 2 : 10) << known.name;
      }
    }
  }
}

// Random links bypass the routes of messages, so a share is not promised; the proof is.
TEST(Forest, OfRandomGraphsIsCertified) {
  int made_of = 0, refused = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Topology topology = parse_topology(random_graph_text(seed, 10, seed % 2 == 1), "random");
    for (const Collective what : kCollectivesWithForests) {
      try {
        const Forest made =
            make_forest(topology, what, static_cast<int32_t>(seed) % topology.ranks());
        ++made_of;
        ASSERT_EQ(certify(made, topology), "") << seed;
      } catch (const Error& error) {
        ++refused;
        EXPECT_NE(std::string(error.what()).find("along the routes"), std::string::npos)
            << seed << ": " << error.what();
      }
    }
  }
  EXPECT_GT(made_of, 5 * refused);
}

std::optional<Forest> joined(const Topology& topology, Collective what) {
  return make_in_hosts(topology, what,
                       [&](const Topology& host) { return make_forest(host, what, 0); });
}

// Above 64 GPUs: one host's forest, joined by rails; hosts that differ are packed flat.
TEST(Forest, JoinsEqualHosts) {
  for (const int nets : {2, 8}) {
    const Topology topology = parse_topology(hosts_text(16, nets, 450, 50), "16x8");
    for (const Collective what : {Collective::kAllgather, Collective::kReduceScatter}) {
      const Forest made = make_forest(topology, what, 0);
      EXPECT_EQ(certify(made, topology), "");
      EXPECT_GE(made.share(), 0.95) << nets;
      EXPECT_EQ(depth_of(made), 2);
    }
  }
  std::string text = hosts_text(3, 8, 450, 50);
  EXPECT_TRUE(joined(parse_topology(text, "3x8"), Collective::kAllgather));
  EXPECT_FALSE(joined(parse_topology(text, "3x8"), Collective::kBcast));
  text.replace(text.find("h1g0..h1g7 h1sw 450"), 19, "h1g0..h1g7 h1sw 449");
  EXPECT_FALSE(joined(parse_topology(text, "3x8"), Collective::kAllgather));
  EXPECT_FALSE(joined(machine("torus-4x4x4"), Collective::kAllgather));
}

TEST(Forest, OfASingleGpuHasATreeWithoutEdges) {
  const Topology one = parse_topology("gpu a\n", "one");
  const Forest made = make_forest(one, Collective::kAllgather, 0);
  EXPECT_EQ(certify(made, one), "");
  EXPECT_EQ(made.trees.size(), 1U);
}

TEST(Forest, TakesThinGpusAndOneWayLinks) {
  const Topology thin = parse_topology(
      "gpu a b c d\nnode s\nlink a s 100 1\nlink b s 100 1\nlink c s 100 1\nlink d s 7 1\n",
      "thin");
  for (const Collective what : kCollectivesWithForests) {
    const Forest made = make_forest(thin, what, 0);
    EXPECT_EQ(certify(made, thin), "");
    EXPECT_GE(made.share(), 0.97) << name_of(what);
  }
  const Topology circle =
      parse_topology("gpu a b c\noneway a b 10 1\noneway b c 10 1\noneway c a 10 1\n", "circle");
  for (const Collective what : kCollectivesWithForests) {
    const Forest made = make_forest(circle, what, 2);
    EXPECT_EQ(certify(made, circle), "");
    EXPECT_EQ(made.share(), 1) << name_of(what);
  }
}

TEST(Forest, IsTheSameFromShuffledText) {
  for (const KnownGraph& known : known_graphs()) {
    if (known.text.size() > 1200) continue;  // 64 GPUs take seconds
    std::vector<std::string> nodes, links;
    std::istringstream lines(known.text);
    for (std::string line; std::getline(lines, line);)
      (line.compare(0, 4, "link") == 0 ? links : nodes).push_back(line);
    const Topology straight = parse_topology(known.text, known.name);
    const std::string right = text_of({make_forest(straight, Collective::kAllgather, 0)});
    for (uint32_t seed = 0; seed < 3; ++seed) {
      std::shuffle(links.begin(), links.end(), std::mt19937(seed));
      std::string text;
      for (const std::string& line : nodes) text += line + "\n";
      for (const std::string& line : links) text += line + "\n";
      EXPECT_EQ(text_of({make_forest(parse_topology(text, "x"), Collective::kAllgather, 0)}), right)
          << known.name;
    }
  }
}

// A fault of a packer, drawn by a seed. Faults that leave a correct forest are drawn again.
std::string break_forest(Forest& f, std::mt19937& random) {
  const auto below = [&](size_t end) { return static_cast<size_t>(random() % end); };
  Tree& tree = f.trees[below(f.trees.size())];
  const auto rank = [&] { return static_cast<int32_t>(below(static_cast<size_t>(f.gpus))); };
  int32_t child = rank();
  while (child == tree.root) child = rank();
  int32_t& parent = tree.parents[static_cast<size_t>(child)];
  switch (below(12)) {
    case 0:
      parent = -1;
      return "a rank without parent";
    case 1:
      parent = child;
      return "a loop";
    case 2:
      tree.parents[static_cast<size_t>(tree.root)] = child;
      return "a circle through the root";
    case 3:
      ++tree.weight;
      return "a tree too heavy";
    case 4:
      f.trees.erase(f.trees.begin() + static_cast<ptrdiff_t>(below(f.trees.size())));
      return "a tree too few";
    case 5:
      f.trees.push_back(tree);
      return "a tree too many";
    case 6:
      f.time.under += f.time.under / 50 + 1;
      return "a time too short";
    case 7:
      f.bound.over += 1;
      return "a bound too high";
    case 8:
      f.cut.erase(f.cut.begin() + static_cast<ptrdiff_t>(below(f.cut.size())));
      return "a cut without a node";
    case 9:
      tree.parents.pop_back();
      return "a rank too few";
    case 10:
      parent = f.gpus;
      return "a parent that is no rank";
    default:
      // All trees lean on one edge of the root.
      for (Tree& one : f.trees)
        for (int32_t gpu = 0; gpu < f.gpus; ++gpu)
          if (gpu != one.root) one.parents[static_cast<size_t>(gpu)] = one.root;
      return "stars";
  }
}

TEST(Certificate, CatchesFaults) {
  std::set<std::string> seen;
  const Topology topology = machine("mi250");
  for (const Collective what : {Collective::kAllgather, Collective::kReduceScatter}) {
    const Forest right = make_forest(topology, what, 0);
    for (uint32_t seed = 0; seed < 60; ++seed) {
      Forest wrong = right;
      std::mt19937 random(seed);
      const std::string fault = break_forest(wrong, random);
      seen.insert(fault);
      EXPECT_NE(certify(wrong, topology), "") << "seed " << seed << ": " << fault;
    }
  }
  EXPECT_EQ(seen.size(), 12U);
}

// A cut without data proves nothing, whatever bound stands beside.
TEST(Certificate, NeedsACutWithData) {
  const Topology topology = machine("dgx-1v");
  Forest wrong = make_forest(topology, Collective::kAllgather, 0);
  wrong.cut.clear();
  wrong.bound = {1000000, 1};
  EXPECT_NE(certify(wrong, topology), "");
}

// Each edge moves to another parent: an overloaded link, a circle, or a correct forest by the loads
// of the test's own count.
TEST(Certificate, CatchesEveryOverload) {
  const Topology topology = machine("dgx-1v");
  const Forest right = make_forest(topology, Collective::kBcast, 0);
  ASSERT_EQ(right.share(), 1);
  int overloads = 0;
  for (size_t number = 0; number < right.trees.size(); ++number)
    for (int32_t child = 0; child < right.gpus; ++child)
      for (int32_t parent = 0; parent < right.gpus; ++parent) {
        Forest moved = right;
        int32_t& place = moved.trees[number].parents[static_cast<size_t>(child)];
        if (place < 0 || parent == place) continue;
        place = parent;
        const std::string fault = certify(moved, topology);
        overloads += fault.find("carries") != std::string::npos ? 1 : 0;
        if (!fault.empty()) continue;
        for (const Topology::Link& link : topology.links) {
          int64_t load = 0;
          for (const Tree& tree : moved.trees)
            for (int32_t gpu = 0; gpu < moved.gpus; ++gpu)
              if (topology.gpus[static_cast<size_t>(gpu)] == link.to &&
                  tree.parents[static_cast<size_t>(gpu)] >= 0 &&
                  topology.gpus[static_cast<size_t>(tree.parents[static_cast<size_t>(gpu)])] ==
                      link.from)
                load += tree.weight;
          EXPECT_LE(load * moved.time.under, moved.time.over * link.capacity);
        }
      }
  EXPECT_GT(overloads, 50);
}

TEST(Certificate, RefusesAnotherMachine) {
  const Forest made = make_forest(machine("2x8-h100-rails"), Collective::kAllgather, 0);
  EXPECT_NE(certify(made, machine("2x8-a100-two-ib")), "");
  EXPECT_EQ(certify(made, machine("torus-4x4x4")), "a forest of 16 GPUs for a machine of 64");
}

TEST(Form, IsReadAsWritten) {
  const Topology topology = machine("dgx-1v");
  const Forests made = {make_forest(topology, Collective::kReduceScatter, 0),
                        make_forest(topology, Collective::kAllgather, 0)};
  const std::string text = text_of(made);
  EXPECT_EQ(forests_in(text, "x"), made);
  EXPECT_EQ(text_of(forests_in(text, "x")), text);
  EXPECT_TRUE(forests_in("forests 1\n", "x").empty());
}

TEST(Form, RefusesEveryTornText) {
  const std::string text = text_of({make_forest(machine("dgx-1v"), Collective::kBcast, 0)});
  for (size_t size = 0; size < text.size(); ++size)
    if (size != std::string("forests 1\n").size()) {
      EXPECT_THROW((void)forests_in(text.substr(0, size), "x"), Error) << size;
    }
  for (const char* more :
       {"x", "\n", " ", "forest bcast 0 4096 1 65536 1 1 1 1\ncut\n",
        "forest scan 0 2 1 0 1 1 1 1\ncut\n", "forest bcast 0 99999999999 1 1 1 1 1 1\ncut\n",
        "forest bcast 0 2 1 1 1 0 1 1\ncut\n0 1 -1 0\n"})
    EXPECT_THROW((void)forests_in(text + more, "x"), Error) << more;
}

// Bytes from any compiler and machine.
TEST(Form, HasTheSameBytesEverywhere) {
  EXPECT_EQ(hash_of(""), 14695981039346656037U);
  std::string all;
  for (const char* name : {"dgx-1v", "mi250", "2x8-h100-rails", "2x8-a100-two-ib"})
    for (const Collective what : kCollectivesWithForests)
      all += text_of({make_forest(machine(name), what, 0)});
  EXPECT_EQ(hash_of(all), 17450533070620455049U);
}

// Where messages may take any way, links both ways always split whole, and pack at the bound.
TEST(Split, OfRandomGraphsAlwaysReachesTheBound) {
  const auto always = [](const std::vector<int32_t>&) { return true; };
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Graph graph = graph_of(parse_topology(random_graph_text(seed, 9, false), "random"));
    if (graph.gpus == 1) continue;
    std::vector<int64_t> supplies =
        root_weights(seed % 3 == 0 ? Collective::kBcast : Collective::kAllgather, graph.gpus, 0);
    const Bound bound = bound_of(graph, supplies);
    for (Graph::Edge& edge : graph.edges) edge.capacity *= bound.units;
    for (int64_t& one : supplies) one *= bound.capacity;
    const SplitResult split = split_switches(graph, {supplies, always, 1});
    ASSERT_EQ(split.fault, "") << seed;
    std::map<std::pair<int32_t, int32_t>, int64_t> left;
    for (const Graph::Edge& edge : split.edges) left[{edge.from, edge.to}] = edge.capacity;
    for (const PackedTree& tree : pack(split.edges, supplies)) {
      supplies[static_cast<size_t>(tree.root)] -= tree.weight;
      for (int32_t gpu = 0; gpu < graph.gpus; ++gpu) {
        const int32_t parent = tree.parents[static_cast<size_t>(gpu)];
        EXPECT_EQ(parent < 0, gpu == tree.root);
        if (parent >= 0) left[{parent, gpu}] -= tree.weight;
      }
    }
    for (const auto& [edge, capacity] : left) ASSERT_GE(capacity, 0) << seed;
    for (const int64_t rest : supplies) ASSERT_EQ(rest, 0) << seed;
  }
}

TEST(Pack, RefusesTooLittleCapacity) {
  EXPECT_THROW((void)pack({{0, 1, 1}}, {2, 0}), Error);
  const std::vector<PackedTree> trees = pack({{0, 1, 3}}, {2, 0});
  ASSERT_EQ(trees.size(), 1U);
  EXPECT_EQ(trees[0].weight, 2);
  EXPECT_EQ(trees[0].parents, (std::vector<int32_t>{-1, 0}));
}

TEST(Split, NamesASwitchThatRoutesLeaveWhole) {
  Graph graph;
  graph.gpus = 2;
  graph.names = {"a", "b", "s"};
  graph.edges = {{0, 2, 4}, {1, 2, 4}, {2, 0, 4}, {2, 1, 4}};
  const auto never = [](const std::vector<int32_t>&) { return false; };
  EXPECT_EQ(split_switches(graph, {{1, 1}, never, 1}).fault, "s");
  const auto always = [](const std::vector<int32_t>&) { return true; };
  const SplitResult made = split_switches(graph, {{4, 4}, always, 1});
  EXPECT_EQ(made.fault, "");
  EXPECT_EQ(made.edges, (std::vector<Graph::Edge>{{0, 1, 4}, {1, 0, 4}}));
}

}  // namespace
}  // namespace tern::coll::forest
