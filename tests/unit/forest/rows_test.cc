// SPDX-License-Identifier: Apache-2.0
// Rows "forest": proved on symbols for known machines and random graphs, and quick in simulation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/forest/forest_plan.hpp"
#include "coll/laboratory/simulate/simulate.hpp"
#include "coll/laboratory/verify/verify.hpp"
#include "tests/unit/forest/graphs.hpp"

namespace tern::coll {
namespace {

constexpr Collective kForestRows[] = {Collective::kAllgather, Collective::kReduceScatter,
                                      Collective::kAllreduce, Collective::kBcast,
                                      Collective::kReduce};

const Algorithm& row_of(Collective what) { return *find_algorithm(what, "forest"); }

void prove(const forest::ForestPlan& plan, Collective what, int32_t root,
           const std::string& where) {
  const Proof proof = verify(row_of(what), plan.ranks(), root, nullptr, &plan);
  EXPECT_EQ(proof.fault, "") << where << ", " << name_of(what);
}

TEST(ForestRows, AreProvedOnKnownMachines) {
  for (const KnownGraph& known : known_graphs()) {
    const forest::ForestPlan plan(parse_topology(known.text, known.name));
    if (plan.ranks() > 16) continue;
    for (const Collective what : kForestRows) prove(plan, what, plan.ranks() - 1, known.name);
  }
}

TEST(ForestRows, AreProvedOn64Gpus) {
  for (const KnownGraph& known : known_graphs()) {
    if (std::string(known.name) != "torus-4x4x4") continue;
    const forest::ForestPlan plan(parse_topology(known.text, known.name));
    for (const Collective what : kForestRows) prove(plan, what, 17, known.name);
  }
}

// Every root, one-way links, other k for each phase of an allreduce.
TEST(ForestRows, AreProvedOnRandomGraphs) {
  int proved = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const forest::ForestPlan plan(
        parse_topology(random_graph_text(seed, 7, seed % 2 == 1), "random"));
    for (const Collective what : kForestRows)
      for (int32_t root = 0; root < (rooted(what) ? plan.ranks() : 1); ++root) {
        try {
          (void)plan.forests(what, root);
        } catch (const Error&) {
          continue;
        }
        ++proved;
        prove(plan, what, root, strf("seed %u, root %d", seed, root));
      }
  }
  EXPECT_GT(proved, 300);
}

// No trees along the routes lead from ranks 3 and 4. A row is chosen before its root is known.
TEST(ForestRows, ServeEveryRoot) {
  const Topology machine = parse_topology(
      "gpu g0 g1 g2 g3 g4\nnode s0 s1\n"
      "link g0 g1 2 1\nlink g0 g3 100 9\nlink g0 g4 25 9\nlink g0 s0 2 3\nlink g0 s1 10 3\n"
      "link g1 g2 10 3\nlink g1 g3 100 9\nlink g1 s0 10 1\nlink g1 s1 1 9\nlink g2 s0 1 3\n"
      "link g2 s1 100 9\nlink g3 g4 25 3\nlink g3 s0 1 9\nlink g4 s0 2 1\nlink g4 s1 2 9\n"
      "link s0 s1 25 9\n",
      "odd");
  const forest::ForestPlan plan(machine);
  int stars = 0;
  for (const Collective collective : {Collective::kBcast, Collective::kReduce}) {
    ASSERT_TRUE(plan.serves(collective));
    for (int32_t root = 0; root < 5; ++root) {
      const forest::Forest made = plan.forests(collective, root)[0];
      EXPECT_EQ(forest::certify(made, machine), "") << root;
      stars += forest::depth_of(made) == 1 && made.trees.size() == 1 ? 1 : 0;
      const Proof proof = verify(*find_algorithm(collective, "forest"), 5, root, nullptr, &plan);
      EXPECT_TRUE(proof.holds()) << proof.fault;
    }
  }
  EXPECT_GT(stars, 0);
}

TEST(ForestRows, AreProvedAsPuts) {
  const forest::ForestPlan plan(parse_topology(known_graphs()[0].text, "dgx-1v"));
  const auto all = [](int32_t, int32_t) { return true; };
  const auto halves = [](int32_t a, int32_t b) { return (a < 4) == (b < 4); };
  for (const Collective what : kForestRows)
    for (const Mapped& mapped : {Mapped(all), Mapped(halves)}) {
      const Proof proof = verify_lowered(row_of(what), 8, 3, nullptr, mapped, &plan);
      EXPECT_EQ(proof.fault, "") << name_of(what);
    }
}

TEST(ForestRows, NeedAPlanOfTheirRanks) {
  const forest::ForestPlan plan(parse_topology("gpu a b\nlink a b 10 1\n", "pair"));
  const Algorithm& row = row_of(Collective::kAllreduce);
  EXPECT_TRUE(serves(row, 2, nullptr, &plan));
  EXPECT_FALSE(serves(row, 3, nullptr, &plan));
  EXPECT_FALSE(serves(row, 2, nullptr));
  EXPECT_FALSE(plan.serves(Collective::kAlltoall));
}

double busbw_of(const Topology& topology, const Algorithm& row, const Levels* levels,
                const Plan* plan) {
  std::vector<Schedule> all;
  for (int32_t rank = 0; rank < topology.ranks(); ++rank)
    all.push_back(build(row, topology.ranks(), rank, 0, levels, plan));
  const double whole = 256 << 20;
  const double bytes = splits(row.collective) ? whole : whole / topology.ranks();
  const Simulated found =
      simulate(all, topology, {.bytes = bytes, .chunk = static_cast<double>(row.chunk)});
  return bus_bandwidth(row.collective, topology.ranks(), bytes, found.time);
}

// 256 MiB in all. The simulation of 64 GPUs takes long: TEST_LONG.
TEST(ForestRows, AreSimulatedNearTheBound) {
  for (const KnownGraph& known : known_graphs()) {
    const Topology topology = parse_topology(known.text, known.name);
    if (topology.ranks() > 16 && std::getenv("TEST_LONG") == nullptr) continue;
    const forest::ForestPlan plan(topology);
    const double bound = static_cast<double>(known.bound) / static_cast<double>(known.under);
    for (const Collective what :
         {Collective::kAllgather, Collective::kReduceScatter, Collective::kAllreduce}) {
      const double share = busbw_of(topology, row_of(what), nullptr, &plan) / bound;
      EXPECT_GE(share, 0.85) << known.name << ", " << name_of(what);
      EXPECT_LE(share, 1) << known.name << ", " << name_of(what);
    }
  }
}

// Against the quickest rows without a plan (design of 2026-11: tern_coll simulate, 256 MiB).
TEST(ForestRows, BeatOtherRows) {
  struct Gain {
    size_t graph;
    Collective what;
    const char* other;
    double times;
  };
  for (const Gain& gain : {Gain{0, Collective::kAllgather, "linear", 2.5},
                           Gain{0, Collective::kAllreduce, "two_shot", 2.5},
                           Gain{1, Collective::kAllgather, "linear", 4},
                           Gain{1, Collective::kAllreduce, "rabenseifner", 4},
                           Gain{2, Collective::kAllgather, "neighbor_exchange", 4},
                           Gain{2, Collective::kAllreduce, "sliced", 1.1}}) {
    const KnownGraph known = known_graphs()[gain.graph];
    const Topology topology = parse_topology(known.text, known.name);
    const forest::ForestPlan plan(topology);
    const Levels levels = Levels::from_sizes(topology.ranks(), {8});
    const Levels* const hosts = gain.graph == 2 ? &levels : nullptr;
    const double other = busbw_of(topology, *find_algorithm(gain.what, gain.other), hosts, nullptr);
    const double forest = busbw_of(topology, row_of(gain.what), nullptr, &plan);
    EXPECT_GE(forest, gain.times * other) << known.name << ", " << name_of(gain.what);
    RecordProperty(strf("%s_%s", known.name, name_of(gain.what)), strf("%.1f %.1f", forest, other));
  }
}

}  // namespace
}  // namespace tern::coll
