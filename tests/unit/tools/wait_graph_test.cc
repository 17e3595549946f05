// SPDX-License-Identifier: Apache-2.0
// The wait graph: stuck ranks, cycles, no false deadlocks.
#include "tools/mpirun/wait_graph.hpp"

#include <gtest/gtest.h>

namespace tern::mpirun {
namespace {

using State = WaitNode::State;

WaitNode all_of(std::vector<int> ranks) {
  return {State::kWaiting, {WaitReport{"MPI_Recv", "", std::move(ranks), false, 1}}};
}
WaitNode one_of(std::vector<int> ranks) {
  return {State::kWaiting, {WaitReport{"MPI_Recv", "", std::move(ranks), true, 1}}};
}
const WaitNode kRuns{};
const WaitNode kEnded{State::kEnded, {}};

std::string verdict(const std::vector<WaitNode>& nodes) {
  return in_words(judge_waiting(nodes), nodes);
}

TEST(WaitGraph, ARingOfReceivesIsACycle) {
  const std::vector<WaitNode> nodes{all_of({2}), all_of({0}), all_of({1})};
  const WaitVerdict got = judge_waiting(nodes);
  EXPECT_EQ(got.stuck, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(got.cycle, (std::vector<int>{0, 2, 1}));
  EXPECT_EQ(verdict(nodes), "Deadlock: rank 0 waits for 2, 2 waits for 1, 1 waits for 0.");
}

TEST(WaitGraph, AChainToARunningRankIsNone) {
  EXPECT_EQ(verdict({kRuns, all_of({0}), all_of({1})}), "");
}

TEST(WaitGraph, AllAreNeededOrOneIsEnough) {
  EXPECT_NE(verdict({kRuns, all_of({0, 2}), all_of({1})}), "");
  EXPECT_EQ(verdict({kRuns, one_of({0, 2}), all_of({1})}), "");
  EXPECT_EQ(verdict({one_of({1, 2}), one_of({0, 2}), one_of({0, 1})}),
            "Deadlock: rank 0 waits for 1, 1 waits for 0.");
}

TEST(WaitGraph, OnlyTheCycleIsNamedNotWhoWaitsForIt) {
  EXPECT_EQ(verdict({all_of({1}), all_of({2}), all_of({1})}),
            "Deadlock: rank 1 waits for 2, 2 waits for 1.");
}

TEST(WaitGraph, ARankThatHasEndedIsWaitedForInVain) {
  EXPECT_EQ(verdict({kEnded, all_of({0})}), "Rank 1 waits for rank 0, which has ended.");
  EXPECT_EQ(verdict({kEnded, kRuns, one_of({0, 1})}), "");
}

TEST(WaitGraph, ItselfAndNobodyAndStrangers) {
  EXPECT_EQ(verdict({all_of({0})}), "Deadlock: rank 0 waits for itself.");
  EXPECT_EQ(verdict({all_of({})}), "");
  EXPECT_EQ(verdict({all_of({7})}), "");
}

TEST(WaitGraph, AnotherThreadGoesOn) {
  WaitNode two = all_of({1});
  two.reports.push_back(WaitReport{"MPI_Recv", "", {2}, false, 1});
  EXPECT_EQ(verdict({two, all_of({0}), kRuns}), "");
}

}  // namespace
}  // namespace tern::mpirun
