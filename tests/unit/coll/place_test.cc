// SPDX-License-Identifier: Apache-2.0
// Placement of ranks: never worse than their order, the optimum by enumeration, groups apart and
// beside one another.
#include "coll/laboratory/search/place.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "base/error.hpp"
#include "coll/laboratory/simulate/group_times.hpp"
#include "coll/topology/generators.hpp"
#include "tests/unit/coll/rows.hpp"

namespace tern::coll {
namespace {

/// `gpus` GPUs with a link each way between any two, of random bandwidth and latency.
Topology random_mesh(std::minstd_rand& random, int32_t gpus) {
  std::string text = "gpu g0..g" + std::to_string(gpus - 1) + "\n";
  for (int32_t a = 0; a < gpus; ++a)
    for (int32_t b = 0; b < a; ++b)
      text += "link g" + std::to_string(a) + " g" + std::to_string(b) + " " +
              std::to_string(1 + random() % 64) + " " + std::to_string(1 + random() % 3) + "\n";
  return parse_topology(text, "mesh");
}

Workload random_calls(std::minstd_rand& random) {
  static const char* const kGroups[] = {"block 2", "block 4", "stride 2", "stride 4"};
  static const char* const kCalls[] = {"allreduce", "allgather", "alltoall", "reduce_scatter"};
  std::string text;
  for (int c = 0; c < 2; ++c) {
    const auto kind = random() % 4;
    const int size = kind == 0 || kind == 3 ? 2 : 4;
    text += "group " + std::to_string(c) + " " + kGroups[kind] + " of 8\n";
    text += std::string(kCalls[random() % 4]) + " " + std::to_string(1000 << random() % 10) + " " +
            std::to_string(size) + " " + std::to_string(c) + " - 0\n";
  }
  return parse_workload(text, "calls");
}

/// The least time of all placements, with the rows of ranks in order.
double least_by_enumeration(const Workload& workload, const Topology& machine,
                            const PredictedWorkload& rows) {
  PlacedMachine placed(machine);
  std::vector<Groups> groups;
  std::vector<GroupTimes> times;
  groups.reserve(rows.calls.size());
  for (const PredictedCall& one : rows.calls) {
    groups.push_back(workload.groups_of(one.call));
    times.emplace_back(*one.row, one.call, groups.back(), placed, kMostWorkloadPasses);
  }
  std::vector<int32_t> places(static_cast<size_t>(machine.ranks()));
  std::iota(places.begin(), places.end(), 0);
  double least = INFINITY;
  do {
    double sum = 0;
    for (size_t i = 0; i < times.size(); ++i)
      sum += static_cast<double>(rows.calls[i].count) * times[i].time(places);
    least = std::min(least, sum);
  } while (std::next_permutation(places.begin(), places.end()));
  return least;
}

TEST(Place, TheOptimumByEnumerationIsMet) {
  std::minstd_rand random(2026);
  for (int i = 0; i < (long_tests() ? 100 : 3); ++i) {
    const Topology machine = random_mesh(random, 8);
    const Workload workload = random_calls(random);
    const Placement found = place(workload, machine);
    EXPECT_LE(found.after.communication,
              least_by_enumeration(workload, machine, found.before) * (1 + 1e-9))
        << "instance " << i;
  }
}

// Two groups of a call share the only link between two switches, unless a group is on a side.
TEST(Place, GroupsMoveBehindASwitch) {
  const Topology machine = parse_topology(
      "gpu g0..g7\nnode a b\nlink g0..g3 a 100 1\nlink g4..g7 b 100 1\nlink a b 10 1\n", "two");
  const Workload workload =
      parse_workload("group 1 stride 2 of 8\nallreduce 1000000 4 1 - 0\n", "w");
  const Placement found = place(workload, machine);
  EXPECT_LT(found.after.communication, found.before.communication / 4);
  for (int32_t rank = 0; rank < 8; ++rank)
    EXPECT_EQ(found.places[static_cast<size_t>(rank)] / 4,
              found.places[static_cast<size_t>(rank % 2)] / 4);
}

TEST(Place, RanksTakeFreeGpus) {
  const Topology machine =
      parse_topology("gpu g0..g3\nnode a\nlink g0..g1 a 1 1\nlink g2..g3 a 100 1\n", "free");
  const Placement found = place(parse_workload("bcast 1000000 2 0 0 0\n", "w"), machine);
  EXPECT_EQ(std::set<int32_t>(found.places.begin(), found.places.end()), (std::set<int32_t>{2, 3}));
}

TEST(Place, APlacementIsAPermutationAndNeverWorse) {
  for (const char* words : {"fat-tree:4", "dragonfly:3,2,2,1", "torus:3x4", "rails:4,4,2,1"}) {
    const Topology machine = generate_machine(words);
    const Workload workload = parse_workload(
        "group 0 block 4 of 12\ngroup 1 stride 4 of 12\nallreduce 100000 4 0 - 1\n"
        "alltoall 5000 3 1 - 2\nallreduce 100000 4 0 - 1\nbarrier 0 12 7 - 3\n",
        "w");
    const Placement found = place(workload, machine, {.seeds = 2, .most_work = 50'000});
    EXPECT_LE(found.after.communication, found.before.communication) << words;
    EXPECT_EQ(found.after.computation, 7);
    const std::set<int32_t> used(found.places.begin(), found.places.end());
    EXPECT_EQ(used.size(), 12U);
    EXPECT_LT(*used.rbegin(), machine.ranks());
    const Placement again = place(workload, machine, {.seeds = 2, .most_work = 50'000});
    EXPECT_EQ(again.places, found.places) << words;
  }
}

// Times kept by groups equal a run of all groups at once.
TEST(Place, GroupsApartEqualGroupsAtOnce) {
  std::minstd_rand random(7);
  for (const char* words : {"fat-tree:4", "dragonfly:3,2,2,1", "torus:3x4", "rails:4,4,2,1"}) {
    const Topology machine = generate_machine(words);
    PlacedMachine placed(machine), other(machine);
    const Groups groups = {{0, 4, 8}, {1, 5, 9}, {2, 6, 10}, {3, 7, 11}};
    const WorkloadCall call{Collective::kAllreduce, 300000, 3, 0, 0};
    const Algorithm& row = *find_algorithm(Collective::kAllreduce, "ring");
    GroupTimes times(row, call, groups, placed, kMostWorkloadPasses);
    const Pattern one = Pattern::of(row, 3, 0, nullptr);
    const Pattern all = Pattern::beside({&one, &one, &one, &one});
    std::vector<int32_t> places(12);
    std::iota(places.begin(), places.end(), 0);
    for (int i = 0; i < 20; ++i) {
      std::vector<int32_t> gpus;
      for (const auto& group : groups)
        for (const int32_t rank : group) gpus.push_back(places[static_cast<size_t>(rank)]);
      const double whole =
          continued_time(all, other.with(gpus), row, call.bytes, kMostWorkloadPasses);
      EXPECT_NEAR(times.time(places), whole, 1e-9 * whole) << words;
      std::swap(places[random() % 12], places[random() % 12]);
    }
  }
}

TEST(Place, NothingToSimulateStaysInOrder) {
  const Placement found = place(parse_workload("neighbor_alltoall 8 1024 0 - 0\n", "w"),
                                generate_machine("rails:128,8,128,0"));
  EXPECT_EQ(found.tried, 0);
  for (int32_t i = 0; i < 1024; ++i) EXPECT_EQ(found.places[static_cast<size_t>(i)], i);
  EXPECT_THROW((void)place(parse_workload("# x\n", "w"), generate_machine("torus:2x2")), Error);
}

TEST(Place, TooManyRanksAreSaid) {
  const Topology machine = generate_machine("torus:2x2");
  EXPECT_THROW((void)place(parse_workload("barrier 0 5 0 - 0\n", "w"), machine), Error);
  EXPECT_THROW(
      (void)place(parse_workload("barrier 0 8193 0 - 0\n", "w"), generate_machine("torus:100x100")),
      Error);
}

}  // namespace
}  // namespace tern::coll
