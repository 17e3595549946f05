// SPDX-License-Identifier: Apache-2.0
// Classes of ranks against whole runs, and whole runs against an oracle that shares no code with
// the simulator: every row on every kind of machine. Symmetries of rows, by relabelling.
#include "coll/laboratory/simulate/classes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/symmetry.hpp"
#include "coll/laboratory/simulate/pattern.hpp"
#include "coll/laboratory/simulate/simulate.hpp"
#include "coll/lower/lower.hpp"
#include "coll/topology/generators.hpp"
#include "coll/topology/machines.hpp"
#include "tests/unit/coll/rows.hpp"
#include "tests/unit/coll/slow_simulate.hpp"

namespace tern::coll {
namespace {

struct Machine {
  const char* words;
  int32_t ranks;  // 0: a rank per GPU
  int32_t host;   // ranks of a host, for the levels
};

Topology topology_of(const std::string& words) {
  return words.find(':') == std::string::npos ? load_topology(words) : generate_machine(words);
}

std::vector<Schedule> all_of(const Algorithm& row, int32_t ranks, const Levels* levels) {
  std::vector<Schedule> all;
  for (int32_t r = 0; r < ranks; ++r)
    all.push_back(build(row, ranks, r, rooted(row.collective) ? ranks / 3 : 0, levels));
  return all;
}

void expect_equal(const Simulated& found, const Simulated& right, const std::string& where) {
  EXPECT_NEAR(found.time, right.time, 1e-9 * right.time) << where;
  ASSERT_EQ(found.carried.size(), right.carried.size()) << where;
  for (size_t i = 0; i < right.carried.size(); ++i)
    ASSERT_NEAR(found.carried[i], right.carried[i], 1e-9 * right.carried[i] + 1e-6)
        << where << ", link " << i;
}

/// A class per rank: the run by classes is the whole run, step by step.
bool is_whole(const std::vector<Schedule>& all, const Topology& topology) {
  Routes routes(topology);
  const Pattern pattern = Pattern::of(all);
  return Classes::coarsest(pattern, topology, routes).count() == pattern.ranks();
}

template <class Check>
void for_each_shape(const std::vector<Machine>& machines, const Check& check) {
  for (const Machine& machine : machines) {
    const Topology topology = topology_of(machine.words);
    const int32_t ranks = machine.ranks == 0 ? topology.ranks() : machine.ranks;
    const Levels levels = Levels::from_sizes(ranks, {machine.host});
    const Levels* const given = levels.empty() ? nullptr : &levels;
    for (const Algorithm& row : rows(true))
      if (serves(row, ranks, given))
        check(row, topology, all_of(row, ranks, given),
              std::string(machine.words) + " " + name_of(row.collective) + " " + row.name);
  }
}

TEST(Classes, EqualWholeRuns) {
  std::vector<Machine> machines = {{"fat-tree:4", 0, 2},        {"fat-tree:4,2,memory=50", 13, 4},
                                   {"dragonfly:3,2,3,1", 0, 6}, {"dragonfly+:2,2,4,2", 0, 4},
                                   {"torus:4x5", 0, 4},         {"rails:8,4,2,2", 0, 4},
                                   {"2x8-rail", 0, 8},          {"pcie-4", 0, 2}};
  if (long_tests())
    machines.insert(machines.end(), {{"fat-tree:4,2,ranks=4,memory=100", 0, 4},
                                     {"dragonfly:5,4,2,1", 0, 8},
                                     {"torus:4x2x3,ranks=2", 0, 2},
                                     {"rails:5,4,2,2", 0, 4},
                                     {"fat-tree:8,2", 0, 4},
                                     {"dragonfly:8,4,8,2", 0, 8},
                                     {"torus:4x8x8", 0, 8},
                                     {"rails:32,8,8,4", 0, 8},
                                     {"rails:31,8,8,4,memory=200", 0, 8}});
  for_each_shape(machines, [](const Algorithm&, const Topology& topology,
                              const std::vector<Schedule>& all, const std::string& where) {
    for (const SimulatedEngine engine : {SimulatedEngine::kHost, SimulatedEngine::kStream}) {
      if (engine == SimulatedEngine::kStream && all.size() > 20) continue;
      // Several passes amplify rounding: on 256 ranks of a torus from 2e-9 us to 1e-2 us within
      // 200 rounds.
      const bool large = all.size() > 64;
      if (large && is_whole(all, topology)) continue;
      Simulation what{.engine = engine, .bytes = 1e6, .chunk = large ? 0 : 9e4};
      const Simulated found = simulate(all, topology, what);
      what.whole = true;
      const Simulated whole = simulate(all, topology, what);
      EXPECT_EQ(whole.classes, static_cast<int32_t>(all.size())) << where;
      EXPECT_LE(found.classes, whole.classes) << where;
      expect_equal(found, whole, where);
    }
  });
}

TEST(Classes, WholeRunsEqualTheOracle) {
  for_each_shape(
      {{"2x8-rail", 0, 8},
       {"pcie-4", 0, 2},
       {"dgx-h100", 0, 4},
       {"fat-tree:4,2,ranks=2,memory=100", 19, 2},
       {"torus:3x3", 0, 3},
       {"dragonfly:3,3,1,1", 0, 3}},
      [](const Algorithm&, const Topology& topology, const std::vector<Schedule>& all,
         const std::string& where) {
        // More passes amplify rounding, as contending flows meet in other orders.
        Simulation what{.bytes = 1e6, .chunk = 5e5, .whole = true};
        const Simulated host = simulate(all, topology, what);
        expect_equal(host, slow::slow_simulate(all, topology, what, host.passes), where);
        what.engine = SimulatedEngine::kStream;
        const Simulated stream = simulate(all, topology, what);
        Routes routes(topology);
        const auto mapped = [&](int32_t from, int32_t to) {
          return routes.between(from, to).mapped;
        };
        expect_equal(stream, slow::slow_simulate(lower(all, mapped), topology, what, stream.passes),
                     where + " stream");
      });
}

// Ranks of a symmetric machine and row are one class, or two where half of the ranks copy.
TEST(Classes, ASymmetricMachineHasFewClasses) {
  const Topology tree = generate_machine("fat-tree:16");
  const auto classes = [&](Collective what, const char* name) {
    const Pattern pattern = Pattern::of(*find_algorithm(what, name), 1024, 0, nullptr);
    return simulate(pattern, tree, {.bytes = 8}).classes;
  };
  EXPECT_EQ(classes(Collective::kAllreduce, "recursive_doubling"), 2);
  EXPECT_EQ(classes(Collective::kAllgather, "recursive_doubling"), 1);
  EXPECT_EQ(classes(Collective::kAllreduce, "ring"), 64);
}

// A symmetry gives the pattern that the schedules give.
TEST(Symmetry, RelabelledSchedulesAreTheRows) {
  for (const Algorithm& row : rows(true)) {
    if ((row.traits & kSymmetries) == 0) continue;
    int32_t used = 0;
    for (int32_t ranks = 2; ranks <= 128; ++ranks)
      for (const int32_t host : {0, 2, 3, 4, 8, 32}) {
        const Levels levels = host == 0 ? Levels{} : Levels::from_sizes(ranks, {host});
        const Levels* const given = levels.empty() ? nullptr : &levels;
        if ((given != nullptr) != ((row.traits & kSlices) != 0)) continue;
        if (!serves(row, ranks, given)) continue;
        if (!long_tests() && ranks > 34 && ranks % 8 != 0 && ranks != 127) continue;
        const Pattern found = Pattern::of(row, ranks, 0, given);
        const Pattern right = Pattern::of(all_of(row, ranks, given));
        const Symmetry symmetry = Symmetry::of(row, ranks, given);
        for (int32_t r = 0; r < ranks; ++r) {
          used += symmetry.like(r) == r ? 0 : 1;
          ASSERT_EQ(found.outline(r), right.outline(r))
              << row.name << ", rank " << r << " of " << ranks;
          ASSERT_TRUE(std::ranges::equal(found.peers(r), right.peers(r)))
              << row.name << ", rank " << r << " of " << ranks;
        }
      }
    EXPECT_GT(used, 100) << name_of(row.collective) << " " << row.name;
  }
}

// A symmetry that a row lacks is found out.
TEST(Symmetry, AWrongTraitDiffers) {
  Algorithm tree = *find_algorithm(Collective::kAllreduce, "tree");
  tree.traits |= kRotates;
  const Pattern found = Pattern::of(tree, 8, 0, nullptr);
  const Pattern right = Pattern::of(all_of(tree, 8, nullptr));
  EXPECT_FALSE(found.outline(4) == right.outline(4) &&
               std::ranges::equal(found.peers(4), right.peers(4)));
}

TEST(Pattern, AOneSidedPeerIsSaid) {
  std::vector<Schedule> all = all_of(*find_algorithm(Collective::kBcast, "binomial"), 2, nullptr);
  all[0].steps.clear();
  all[0].lane_begin = {0, 0};
  EXPECT_THROW((void)simulate(all, topology_of("pcie-4"), {.bytes = 1}), Error);
}

}  // namespace
}  // namespace tern::coll
