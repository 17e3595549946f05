// SPDX-License-Identifier: Apache-2.0
// Proofs of every algorithm for all ranks up to 64, all roots up to 9 ranks, and samples beyond.
// Mutations.
#include "coll/laboratory/verify/verify.hpp"

#include <gtest/gtest.h>

#include <random>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/ranks.hpp"
#include "coll/emitters.hpp"
#include "tests/unit/coll/mutations.hpp"
#include "tests/unit/coll/rows.hpp"

namespace tern::coll {
namespace {

class EveryAlgorithm : public testing::TestWithParam<Algorithm> {};

std::string test_name(const testing::TestParamInfo<Algorithm>& info) {
  return std::string(name_of(info.param.collective)) + "_" + info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Table, EveryAlgorithm, testing::ValuesIn(rows(true)), test_name);

std::vector<int32_t> roots_of(const Algorithm& row, int32_t ranks) {
  std::vector<int32_t> roots = {0};
  if (!rooted(row.collective)) return roots;
  if (ranks > 9) return {0, 1, ranks / 2, ranks - 1};
  for (int32_t root = 1; root < ranks; ++root) roots.push_back(root);
  return roots;
}

std::vector<Levels> machines(int32_t ranks) {
  std::vector<int64_t> uneven, dealt;
  for (int32_t r = 0; r < ranks; ++r) {
    uneven.push_back(r < 1 ? 0 : r < 4 ? 1 : 2 + r / 7);
    dealt.push_back(r % 3);
  }
  return {Levels::from_sizes(ranks, {4}), Levels::from_names({dealt}), Levels::from_names({uneven}),
          Levels::from_sizes(ranks, {8, 4, 2})};
}

void expect_proved(const Algorithm& row, int32_t ranks, const Levels* levels) {
  if (!serves(row, ranks, levels)) return;
  for (const int32_t root : roots_of(row, ranks)) {
    const Proof proof = verify(row, ranks, root, levels);
    ASSERT_TRUE(proof.holds()) << ranks << " ranks, root " << root << ", "
                               << (levels == nullptr ? "no levels" : levels->text()) << ": "
                               << proof.fault;
  }
}

TEST_P(EveryAlgorithm, IsProvedAtEveryRankCount) {
  for (int32_t ranks = 1; ranks <= 64; ++ranks) {
    expect_proved(GetParam(), ranks, nullptr);
    for (const Levels& levels : machines(ranks))
      if ((GetParam().limits & kLevels) != 0 && !levels.empty())
        expect_proved(GetParam(), ranks, &levels);
    if (HasFatalFailure()) return;
  }
}

TEST_P(EveryAlgorithm, IsProvedAtSampledLargeRankCounts) {
  const Levels levels256 = Levels::from_sizes(256, {16});
  const bool needs = (GetParam().limits & kLevels) != 0;
  // Schedules quadratic in the ranks stop earlier.
  const Schedule sample = build(GetParam(), 256, 0, 0, needs ? &levels256 : nullptr);
  const bool many_blocks = sample.blocks_of(Space::kInput) + sample.blocks_of(Space::kOutput) > 3;
  const bool many_steps = sample.steps.size() > 120;
  for (const int32_t ranks : {100, 127, 256, 257, 600, 4096}) {
    if (!long_tests() && (ranks == 256 || ranks == 600)) continue;
    if (ranks > (many_steps ? 127 : many_blocks ? 600 : 4096)) break;
    const Levels levels = Levels::from_sizes(ranks, {ranks == 127 ? 10 : 25, 5});
    const Levels* told = needs ? &levels : nullptr;
    if (!serves(GetParam(), ranks, told)) continue;
    const Proof proof =
        verify(GetParam(), ranks, rooted(GetParam().collective) ? ranks / 3 : 0, told);
    ASSERT_TRUE(proof.holds()) << ranks << " ranks: " << proof.fault;
  }
}

class Mutations : public testing::Test {
 protected:
  static std::vector<Schedule> all(const Algorithm& row, int32_t about) {
    for (int32_t ranks = about;; ++ranks) {
      const Levels levels = Levels::from_sizes(ranks, {ranks % 3 == 0 ? 3 : 2});
      if (!serves(row, ranks, &levels)) continue;
      std::vector<Schedule> schedules;
      for (int32_t r = 0; r < ranks; ++r)
        schedules.push_back(build(row, ranks, r, 0, levels.empty() ? nullptr : &levels));
      return schedules;
    }
  }
  static bool caught(const Algorithm& row, const std::vector<Schedule>& schedules) {
    const bool commutative = (row.limits & kCommutative) != 0;
    return !verify(schedules, false, commutative).holds() ||
           !verify(schedules, true, commutative).holds();
  }
};

bool forwards(const Schedule& schedule) {
  std::vector<Slice> changed;
  for (const Step& step : schedule.steps) {
    const auto* const slices = &schedule.slices[step.operand];
    if (step.verb == Verb::kSend)
      for (const Slice& one : changed)
        if (one == *slices) return true;
    if (step.verb == Verb::kRecv || step.verb == Verb::kReduce)
      changed.insert(changed.end(), slices + step.sources,
                     slices + step.sources + step.destinations);
  }
  return false;
}

TEST(Traits, RowsOfOneHopForwardNoData) {
  int with = 0, without = 0;
  for (const Algorithm& row : rows(true)) {
    bool forwarded = false;
    for (const int32_t ranks : {2, 5, 8}) {
      if (!serves(row, ranks, nullptr)) continue;
      for (int32_t rank = 0; rank < ranks; ++rank)
        forwarded |= forwards(build(row, ranks, rank, 1, nullptr));
    }
    if ((row.traits & kOneHop) != 0) {
      EXPECT_FALSE(forwarded) << name_of(row.collective) << " " << row.name;
      ++with;
    } else {
      without += forwarded ? 1 : 0;
    }
  }
  EXPECT_EQ(with, 10);
  EXPECT_GT(without, 10);
}

TEST_F(Mutations, ADroppedStepIsCaught) {
  for (const Algorithm& row : rows(true)) {
    const std::vector<Schedule> whole = all(row, 5);
    ASSERT_FALSE(caught(row, whole)) << name_of(row.collective) << " " << row.name;
    each_dropped_step(whole, [&](const std::vector<Schedule>& schedules, size_t rank, size_t i) {
      EXPECT_TRUE(caught(row, schedules))
          << name_of(row.collective) << " " << row.name << " rank " << rank << " step " << i;
    });
  }
}

TEST_F(Mutations, ForgottenDependenciesAreCaught) {
  for (const Algorithm& row : rows(true)) {
    std::vector<Schedule> schedules = all(row, 8);
    bool has_dependencies = false;
    for (Schedule& schedule : schedules)
      for (Step& step : schedule.steps) {
        // A window only bounds messages in flight.
        has_dependencies |= step.after > 0;
        step.after = 0;
      }
    const bool by_window_only = row.emit == gather_linear || row.emit == scatter_linear ||
                                row.emit == bcast_linear || row.emit == alltoall_pairwise ||
                                row.emit == alltoall_linear || row.emit == allgather_linear;
    if (!has_dependencies || by_window_only) continue;
    EXPECT_TRUE(caught(row, schedules)) << name_of(row.collective) << " " << row.name;
  }
}

TEST_F(Mutations, EachSingleDependencyOfTheRingMatters) {
  const Algorithm& row = *find_algorithm(Collective::kAllreduce, "ring");
  const Schedule sample = build(row, 4, 2, 0);
  for (size_t i = 0; i < sample.steps.size(); ++i) {
    if (sample.steps[i].after == 0 || sample.steps[i].verb == Verb::kRecv) continue;
    if (i > 0 && sample.steps[i].after <= sample.steps[i - 1].after) continue;
    std::vector<Schedule> schedules = all(row, 4);
    schedules[2].steps[i].after = 0;
    EXPECT_TRUE(caught(row, schedules)) << "step " << i;
  }
}

TEST_F(Mutations, SwappedSlicesAreCaught) {
  std::mt19937 random(7);
  for (const Algorithm& row : rows(true)) {
    if (row.collective == Collective::kBarrier) continue;
    int tried = 0;
    const std::vector<Schedule> whole = all(row, 6);
    for (int round = 0; round < 200; ++round) {
      std::vector<Schedule> schedules = whole;
      Schedule& victim = schedules[random() % schedules.size()];
      if (victim.slices.size() < 2) continue;
      Slice& one = victim.slices[random() % victim.slices.size()];
      Slice& two = victim.slices[random() % victim.slices.size()];
      if (one == two || one.space != two.space) continue;
      std::swap(one, two);
      // Scratch places, and order within a window, are free if both ends agree.
      if (one.space == Space::kStage || one.space == Space::kMirror) continue;
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
