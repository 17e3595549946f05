// SPDX-License-Identifier: Apache-2.0
// Inter-communicator collectives: proofs of every row for groups up to 12 ranks and samples beyond,
// and mutations.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "coll/algorithms/algorithms.hpp"
#include "coll/laboratory/verify/verify.hpp"
#include "tests/unit/coll/mutations.hpp"

namespace tern::coll {
namespace {

std::vector<int32_t> roots_between(const Algorithm& row, int32_t ranks) {
  if (!rooted(row.collective)) return {-1};
  return ranks == 1 ? std::vector<int32_t>{0} : std::vector<int32_t>{0, ranks / 2, ranks - 1};
}

std::string fault(const std::vector<Schedule>& schedules) {
  return verify(schedules, false, false).fault;
}

TEST(Between, EveryRowIsProved) {
  for (const Algorithm& row : between_algorithms())
    for (int32_t ranks = 1; ranks <= 12; ++ranks)
      for (int32_t others = 1; others <= 12; ++others)
        for (const int32_t root : roots_between(row, ranks)) {
          const Proof proof = verify_between(row, ranks, others, root);
          ASSERT_TRUE(proof.holds()) << ranks << " and " << others << " ranks: " << proof.fault;
        }
}

TEST(Between, EveryRowIsProvedForLargerGroups) {
  constexpr std::pair<int32_t, int32_t> kSizes[] = {{1, 100}, {100, 1}, {64, 65}, {70, 200}};
  for (const Algorithm& row : between_algorithms())
    for (const auto& [ranks, others] : kSizes) {
      const Proof proof = verify_between(row, ranks, others, rooted(row.collective) ? 0 : -1);
      ASSERT_TRUE(proof.holds()) << ranks << " and " << others << " ranks: " << proof.fault;
    }
}

TEST(Between, ADroppedStepIsCaught) {
  for (const Algorithm& row : between_algorithms()) {
    const std::vector<Schedule> whole =
        schedules_between(row, 4, 6, rooted(row.collective) ? 2 : -1);
    each_dropped_step(whole, [&](const std::vector<Schedule>& schedules, size_t rank, size_t i) {
      EXPECT_NE(fault(schedules), "")
          << name_of(row.collective) << " rank " << rank << " step " << i;
    });
  }
}

TEST(Between, SwappedSlicesAreCaught) {
  std::mt19937 random(7);
  int tried = 0;
  for (const Algorithm& row : between_algorithms())
    for (int round = 0; round < 200; ++round) {
      std::vector<Schedule> schedules =
          schedules_between(row, 5, 4, rooted(row.collective) ? 1 : -1);
      Schedule& victim = schedules[random() % schedules.size()];
      if (victim.slices.size() < 2) continue;
      Slice& one = victim.slices[random() % victim.slices.size()];
      Slice& two = victim.slices[random() % victim.slices.size()];
      if (one == two || one.space != two.space || one.space == Space::kStage) continue;
      std::swap(one, two);
      ++tried;
      EXPECT_NE(fault(schedules), "") << name_of(row.collective) << " rank " << victim.rank;
    }
  EXPECT_GT(tried, 100);
}

TEST(Between, AGroupThatKeepsItsOwnResultIsCaught) {
  const Algorithm& row = *between_groups(Collective::kAllreduce);
  std::vector<Schedule> schedules = schedules_between(row, 2, 2, -1);
  ASSERT_EQ(fault(schedules), "");
  for (Schedule& schedule : schedules)
    for (Step& step : schedule.steps)
      if (step.peer >= schedule.ranks) step.peer = 0;
  EXPECT_NE(fault(schedules), "");
}

TEST(Between, OperandsStayInOrder) {
  const Algorithm& row = *between_groups(Collective::kReduce);
  std::vector<Schedule> schedules = schedules_between(row, 1, 4, 0);
  for (Schedule& schedule : schedules)
    for (Step& step : schedule.steps)
      if (step.verb == Verb::kReduce)
        std::swap(schedule.slices[step.operand], schedule.slices[step.operand + 1]);
  EXPECT_NE(fault(schedules).find("then"), std::string::npos) << fault(schedules);
}

}  // namespace
}  // namespace tern::coll
