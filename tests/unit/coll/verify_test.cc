// SPDX-License-Identifier: Apache-2.0
// Every algorithm is proved at every rank count to 64 and every root up to 9 ranks, and at samples
// beyond; and the verifier catches what mutations break.
#include "coll/verify.hpp"

#include <gtest/gtest.h>

#include <random>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/ranks.hpp"

namespace tern::coll {
namespace {

class EveryAlgorithm : public testing::TestWithParam<Algorithm> {};

std::string test_name(const testing::TestParamInfo<Algorithm>& info) {
  return std::string(name_of(info.param.collective)) + "_" + info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Table, EveryAlgorithm,
                         testing::ValuesIn(algorithms().begin(), algorithms().end()), test_name);

TEST_P(EveryAlgorithm, IsProvedAtEveryRankCount) {
  for (int32_t ranks = 1; ranks <= 64; ++ranks) {
    std::vector<int32_t> roots = {0};
    if (rooted(GetParam().collective)) {
      if (ranks > 9) roots = {0, 1, ranks / 2, ranks - 1};
      for (int32_t root = 1; ranks <= 9 && root < ranks; ++root) roots.push_back(root);
    }
    for (const int32_t root : roots) {
      const Proof proof = verify(GetParam(), ranks, root);
      ASSERT_TRUE(proof.holds()) << ranks << " ranks, root " << root << ": " << proof.fault;
    }
  }
}

TEST_P(EveryAlgorithm, IsProvedAtSampledLargeRankCounts) {
  // What grows with the square of the ranks ends earlier.
  const size_t steps = build(GetParam(), 256, 5, 0).steps.size();
  const bool many_blocks = build(GetParam(), 256, 5, 0).blocks_of(Space::kOutput) > 1;
  for (const int32_t ranks : {100, 127, 257, 600, 4096}) {
    if (ranks > (steps > 200 ? 257 : many_blocks ? 600 : 4096)) break;
    const Proof proof = verify(GetParam(), ranks, rooted(GetParam().collective) ? ranks / 3 : 0);
    ASSERT_TRUE(proof.holds()) << ranks << " ranks: " << proof.fault;
  }
}

// What a schedule says must matter: dropping a step, turning slices round, forgetting dependencies
// is caught.
class Mutations : public testing::Test {
 protected:
  static std::vector<Schedule> all(const Algorithm& row, int32_t ranks) {
    std::vector<Schedule> schedules;
    for (int32_t r = 0; r < ranks; ++r) schedules.push_back(build(row, ranks, r, 0));
    return schedules;
  }
  static bool caught(const Algorithm& row, const std::vector<Schedule>& schedules) {
    const bool commutative = (row.limits & kCommutative) != 0;
    return !verify(schedules, false, commutative).holds() ||
           !verify(schedules, true, commutative).holds();
  }
};

TEST_F(Mutations, ADroppedStepIsCaught) {
  for (const Algorithm& row : algorithms())
    for (size_t rank = 0; rank < 5; ++rank) {
      const size_t steps = build(row, 5, static_cast<int32_t>(rank), 0).steps.size();
      for (size_t i = 0; i < steps; ++i) {
        std::vector<Schedule> schedules = all(row, 5);
        Step& victim = schedules[rank].steps[i];
        victim.verb = Verb::kJoin;
        victim.sources = victim.destinations = 0;
        EXPECT_TRUE(caught(row, schedules))
            << name_of(row.collective) << " " << row.name << " rank " << rank << " step " << i;
      }
    }
}

TEST_F(Mutations, ForgottenDependenciesAreCaught) {
  for (const Algorithm& row : algorithms()) {
    std::vector<Schedule> schedules = all(row, 8);
    bool has_dependencies = false;
    for (Schedule& schedule : schedules)
      for (Step& step : schedule.steps) {
        // A window bounds what is under way; leaving it out breaks nothing.
        has_dependencies |= step.after > 0;
        step.after = 0;
      }
    const bool by_window_only = row.emit == gather_linear || row.emit == scatter_linear ||
                                row.emit == bcast_linear || row.emit == alltoall_pairwise;
    if (!has_dependencies || by_window_only) continue;
    EXPECT_TRUE(caught(row, schedules)) << name_of(row.collective) << " " << row.name;
  }
}

TEST_F(Mutations, EachSingleDependencyOfTheRingMatters) {
  const Algorithm& row = *find_algorithm(Collective::kAllreduce, "ring");
  const Schedule sample = build(row, 4, 2, 0);
  for (size_t i = 0; i < sample.steps.size(); ++i) {
    if (sample.steps[i].after == 0 || sample.steps[i].verb == Verb::kRecv) continue;
    if (i > 0 && sample.steps[i].after <= sample.steps[i - 1].after) continue;  // implied
    std::vector<Schedule> schedules = all(row, 4);
    schedules[2].steps[i].after = 0;
    EXPECT_TRUE(caught(row, schedules)) << "step " << i;
  }
}

TEST_F(Mutations, SwappedSlicesAreCaught) {
  std::mt19937 random(7);
  for (const Algorithm& row : algorithms()) {
    if (row.collective == Collective::kBarrier) continue;
    int tried = 0;
    for (int round = 0; round < 200; ++round) {
      std::vector<Schedule> schedules = all(row, 6);
      Schedule& victim = schedules[random() % 6];
      if (victim.slices.size() < 2) continue;
      Slice& one = victim.slices[random() % victim.slices.size()];
      Slice& two = victim.slices[random() % victim.slices.size()];
      if (one == two || one.space != two.space) continue;
      std::swap(one, two);
      // Which stage slots are used, and in which order a window's messages go, is free where both
      // agree.
      if (one.space == Space::kStage) continue;
      ++tried;
      if (caught(row, schedules)) continue;
      ADD_FAILURE() << name_of(row.collective) << " " << row.name << " rank " << victim.rank
                    << " blocks " << one.first << " and " << two.first;
      break;
    }
    if (row.collective == Collective::kAlltoall) {
      EXPECT_GT(tried, 0);
    }
  }
}

TEST_F(Mutations, OperandsOutOfOrderAreCaught) {
  const Algorithm& row = *find_algorithm(Collective::kReduce, "binomial");
  std::vector<Schedule> schedules;
  for (int32_t r = 0; r < 5; ++r) schedules.push_back(build(row, 5, r, 3));
  EXPECT_TRUE(verify(schedules, false, true).holds());
  const Proof proof = verify(schedules, false, false);
  EXPECT_FALSE(proof.holds());
  EXPECT_NE(proof.fault.find("then"), std::string::npos) << proof.fault;
}

TEST(Symbolic, SendsThatAllWaitAreADeadlock) {
  std::vector<Schedule> schedules;
  for (int32_t r = 0; r < 2; ++r) {
    Builder b(Collective::kAllgather, "blocking ring", 2, r, 0);
    b.window(1);
    b.copy(Builder::input(), Builder::output(r));
    b.send(1 - r, Builder::input());
    b.recv(1 - r, Builder::output(1 - r));
    schedules.push_back(b.finish());
  }
  const Proof proof = verify(schedules, false, false);
  EXPECT_NE(proof.fault.find("deadlock"), std::string::npos) << proof.fault;
}

TEST(Symbolic, LanesWaitForEachOther) {
  for (const bool forget : {false, true}) {
    std::vector<Schedule> schedules;
    for (int32_t r = 0; r < 2; ++r) {
      Builder b(Collective::kAllgather, "two lanes", 2, r, 0);
      b.lanes(3);
      b.stage(2);
      b.copy(Builder::input(), Builder::staged(0, r));
      b.lane(1);
      b.recv(1 - r, Builder::staged(1, 1 - r));
      b.send(1 - r, Builder::staged(0, r));
      b.lane(2);
      b.copy(Builder::staged(0, r), Builder::output(r));
      b.copy(Builder::staged(1, 1 - r), Builder::output(1 - r));
      schedules.push_back(b.finish());
    }
    if (forget) schedules[0].steps.back().wait_steps = 0;
    EXPECT_EQ(verify(schedules, false, false).holds(), !forget)
        << verify(schedules, false, false).fault;
  }
}

TEST(RankArithmetic, FoldNumbersActiveRanksInOrder) {
  for (int32_t ranks = 1; ranks <= 70; ++ranks)
    for (int32_t rank = 0; rank < ranks; ++rank) {
      const Fold fold{ranks, rank};
      EXPECT_TRUE(fold.idle() || fold.rank_of(fold.number()) == rank);
      EXPECT_LE(fold.size(), ranks);
      EXPECT_GT(2 * fold.size(), ranks);
    }
}

TEST(RankArithmetic, BinomialSubtreesCoverAllNodesOnce) {
  for (int32_t ranks = 1; ranks <= 70; ++ranks) {
    int32_t children = 0;
    for (int32_t node = 0; node < ranks; ++node) {
      const Binomial tree{ranks, node};
      int32_t covered = 1;
      for (int32_t step = 1; step < tree.reach() && node + step < ranks; step *= 2) {
        EXPECT_EQ((Binomial{ranks, node + step}.parent()), node);
        covered += tree.width(step);
        ++children;
      }
      EXPECT_EQ(covered, tree.subtree());
    }
    EXPECT_EQ(children, ranks - 1);
  }
}

}  // namespace
}  // namespace tern::coll
