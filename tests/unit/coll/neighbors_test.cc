// SPDX-License-Identifier: Apache-2.0
// Neighborhoods: message matching, proofs on grids, tori and random graphs, and mutations.
#include "coll/schedule/neighbors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "coll/algorithms/algorithms.hpp"
#include "coll/laboratory/verify/verify.hpp"
#include "tests/unit/coll/mutations.hpp"

namespace tern::coll {
namespace {

using Neighborhoods = std::vector<Neighbors>;

std::vector<Algorithm> neighbor_rows() {
  const auto rest = algorithms().subspan(global_algorithms().size());
  return {rest.begin(), rest.end()};
}

/// Dense shapes have more edges than a window.
std::vector<Neighborhoods> shapes(int32_t ranks) {
  const auto seed = static_cast<uint32_t>(ranks);
  return {grid_of(ranks, 1, true),           grid_of(ranks, 1, false),
          grid_of(ranks, 2, true),           grid_of(ranks, 3, false),
          grid_of(ranks, 3, true),           random_graph(ranks, 0, seed),
          random_graph(ranks, 2, seed),      random_graph(ranks, 5, seed + 1),
          random_graph(ranks, kWindow, seed)};
}

std::vector<Schedule> all(const Algorithm& row, const Neighborhoods& neighbors) {
  std::vector<Schedule> schedules;
  const auto ranks = static_cast<int32_t>(neighbors.size());
  for (int32_t r = 0; r < ranks; ++r)
    schedules.push_back(
        build(row, ranks, r, std::make_shared<Neighbors>(neighbors[static_cast<size_t>(r)])));
  return schedules;
}

bool caught(const std::vector<Schedule>& schedules) {
  return !verify(schedules, false, false).holds();
}

TEST(Neighborhoods, InAGridWhatGoesDownComesFromAbove) {
  const Neighborhoods pair = grid_of(2, 1, true);
  EXPECT_EQ(pair[0].sources, (std::vector<int32_t>{1, 1}));
  EXPECT_EQ(place_there(pair[0], 0, 0, pair[1]), 1);
  EXPECT_EQ(place_there(pair[0], 0, 1, pair[1]), 0);
  const Neighborhoods row = grid_of(2, 1, false);
  EXPECT_EQ(row[0].sources, (std::vector<int32_t>{kNoRank, 1}));
}

TEST(Neighborhoods, InAGraphEqualEdgesKeepTheirOrder) {
  const Neighbors mine{{1, 0, 1}, {}, false}, theirs{{}, {0, 2, 0}, false};
  EXPECT_EQ(place_there(mine, 0, 0, theirs), 0);
  EXPECT_EQ(place_there(mine, 0, 2, theirs), 2);
  EXPECT_EQ(place_there(mine, 0, 1, theirs), 0);
  EXPECT_EQ(place_there({{1, 1, 1}, {}, false}, 0, 2, theirs), -1);
}

TEST(Neighborhoods, EveryRowIsProvedAtEveryRankCount) {
  for (const Algorithm& row : neighbor_rows())
    for (int32_t ranks = 1; ranks <= 64; ++ranks)
      for (const Neighborhoods& shape : shapes(ranks)) {
        const Proof proof = verify(row, shape);
        ASSERT_TRUE(proof.holds()) << ranks << " ranks: " << proof.fault;
      }
}

TEST(Neighborhoods, EveryRowIsProvedAtManyRanks) {
  for (const Algorithm& row : neighbor_rows())
    for (const Neighborhoods& shape :
         {grid_of(4096, 3, true), random_graph(4096, 4, 1), random_graph(600, 100, 2)}) {
      const Proof proof = verify(row, shape);
      ASSERT_TRUE(proof.holds()) << shape.size() << " ranks: " << proof.fault;
    }
}

TEST(Neighborhoods, ADroppedStepIsCaught) {
  for (const Algorithm& row : neighbor_rows())
    for (const Neighborhoods& shape : shapes(5)) {
      const std::vector<Schedule> whole = all(row, shape);
      each_dropped_step(whole, [&](const std::vector<Schedule>& schedules, size_t rank, size_t i) {
        EXPECT_TRUE(caught(schedules)) << row.name << " rank " << rank << " step " << i;
      });
    }
}

TEST(Neighborhoods, SwappedSlicesAreCaught) {
  std::mt19937 random(7);
  int tried = 0;
  for (const Algorithm& row : neighbor_rows())
    for (const Neighborhoods& shape : shapes(6))
      for (int round = 0; round < 200; ++round) {
        std::vector<Schedule> schedules = all(row, shape);
        Schedule& victim = schedules[random() % schedules.size()];
        if (victim.slices.size() < 2) continue;
        Slice& one = victim.slices[random() % victim.slices.size()];
        Slice& two = victim.slices[random() % victim.slices.size()];
        if (one == two || one.space != two.space) continue;
        // An allgather's source sends equal data on all edges.
        const auto source = [&](const Slice& slice) {
          return victim.neighbors->sources[static_cast<size_t>(slice.first)];
        };
        if (row.collective == Collective::kNeighborAllgather && source(one) == source(two))
          continue;
        std::swap(one, two);
        ++tried;
        EXPECT_TRUE(caught(schedules)) << row.name << " rank " << victim.rank;
      }
  EXPECT_GT(tried, 500);
}

// With two ranks both neighbours are the other rank, so lists cannot tell the edges apart.
TEST(Neighborhoods, AGridTakenForAGraphIsCaught) {
  const Algorithm& row = *find_algorithm(Collective::kNeighborAlltoall, "linear");
  const Neighborhoods grid = grid_of(2, 1, true);
  Neighborhoods lists = grid;
  for (Neighbors& one : lists) one.grid = false;
  std::vector<Schedule> schedules = all(row, lists);
  ASSERT_FALSE(caught(schedules));
  for (size_t r = 0; r < 2; ++r) schedules[r].neighbors = std::make_shared<Neighbors>(grid[r]);
  EXPECT_TRUE(caught(schedules));
}

// Windows over different edge orders wait in a cycle.
TEST(Neighborhoods, AnOrderThatIsNotCommonIsADeadlock) {
  const Algorithm& row = *find_algorithm(Collective::kNeighborAlltoall, "linear");
  const Neighborhoods shape = random_graph(8, 40, 3);
  std::vector<Schedule> schedules = all(row, shape);
  for (Schedule& schedule : schedules)
    for (size_t i = 0; i < schedule.steps.size(); ++i)
      schedule.steps[i].after = static_cast<int32_t>(i);
  EXPECT_FALSE(caught(schedules));
  std::stable_partition(schedules[0].steps.begin(), schedules[0].steps.end(),
                        [](const Step& step) { return step.verb == Verb::kSend; });
  for (size_t i = 0; i < schedules[0].steps.size(); ++i)
    schedules[0].steps[i].after = static_cast<int32_t>(i);
  EXPECT_TRUE(caught(schedules));
}

}  // namespace
}  // namespace tern::coll
