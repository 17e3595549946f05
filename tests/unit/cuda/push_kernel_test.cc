// SPDX-License-Identifier: Apache-2.0
// tern_push on the host shim. Stores arrive in any order.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <vector>

#include "tests/unit/cuda/push_ranks.hpp"

namespace tern::cuda {
namespace {

struct OneFlagMissing {
  TERN_DEVICE static bool all(const uint32_t (&flags)[kLlWords], uint32_t wanted) {
    return flags[1] == wanted && flags[2] == wanted && flags[3] == wanted;
  }
};
TERN_KERNEL(test_push_unchecked, PushArguments, 256, together) {
  TERN_SHARED(PushShared, shared);
  Pusher<LlWire<OneFlagMissing>>(arguments, *shared).run();
}

constexpr Wire wire(const char* kernel = "tern_push") { return {kernel, 24, 24 * kLlBytes}; }

class PushKernel : public testing::TestWithParam<int> {
  const WeakMemory weak_;
};
class OnePushKernel : public testing::Test {
  const WeakMemory weak_;
};
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
INSTANTIATE_TEST_SUITE_P(Ranks, PushKernel, testing::Values(1, 2, 3));
#else
INSTANTIATE_TEST_SUITE_P(Ranks, PushKernel, testing::Values(1, 2, 3, 5));
#endif

TEST_P(PushKernel, SumsAndBlocksOfAllSizes) {
  Ranks ranks(GetParam(), wire());
  EXPECT_EQ(ranks.sums(kSizes), 0);
  EXPECT_EQ(ranks.blocks(kSizes), 0);
  EXPECT_EQ(ranks.sums(kSizes), 0);
}

TEST_P(PushKernel, SumsInTwoHops) {
  Ranks ranks(GetParam(), wire());
  ranks.skew = 5;
  EXPECT_EQ(ranks.sums(kSizes, true), 0);
  EXPECT_EQ(ranks.sums(kSizes), 0);
}

// A rank without receives learns of the peers' progress at the next write.
TEST_P(PushKernel, FromOneToAllAndFromAllToOne) {
  Ranks ranks(GetParam(), wire());
  EXPECT_EQ(ranks.all(kSizes), 0);
}

// Every fourth pair moves whole slots.
TEST_P(PushKernel, PassesThatRefreshFlags) {
  Ranks ranks(GetParam(), wire());
  ranks.refresh = 7;
  EXPECT_EQ(ranks.sums(kSizes), 0);
  EXPECT_EQ(ranks.sums(kSizes, true), 0);
  EXPECT_EQ(ranks.all(kSizes), 0);
  ranks.refresh = 0;
  EXPECT_EQ(ranks.blocks(kSizes), 0);
  EXPECT_EQ(ranks.all(kSizes), 0);
}

TEST_P(PushKernel, NobodyLeavesABarrierBeforeAllHaveCome) {
  const int n = GetParam();
  Ranks ranks(n, wire());
  std::atomic<int> come{0};
  ranks.run([&](int rank) {
    for (int round = 1; round <= 20; ++round) {
      ++come;
      ranks.launch(rank, {.what = PushArguments::kBarrier});
      EXPECT_GE(come.load(), round * n);
    }
  });
}

TEST_F(OnePushKernel, AFlagThatIsNotLookedAtIsFound) {
  const std::vector<size_t> many(40, 333);
  EXPECT_EQ(Ranks(2, wire()).sums(many), 0);
  EXPECT_GT(Ranks(2, wire("test_push_unchecked")).sums(many), 0);
}

TEST_F(OnePushKernel, ItGivesUpAndTellsTheOther) {
  Ranks ranks(2, wire());
  ranks.timeout = 50000000;
  Ints in(std::vector<int>(17, 1), 0), out(std::vector<int>(17, -1), 0);
  const Ranks::Call call{
      .what = PushArguments::kReduce, .in = in.at(), .out = out.at(), .ints = 17};
  ranks.launch(0, call);
  EXPECT_EQ(ranks.reports[0].state, KernelReport::kLate);
  EXPECT_EQ(ranks.reports[0].peer, 1);
  EXPECT_EQ(out.values()[0], -1);
  ranks.launch(1, call);
  EXPECT_EQ(ranks.reports[kParts].state, KernelReport::kTold);
  EXPECT_EQ(ranks.reports[kParts].peer, 0);
}

}  // namespace
}  // namespace tern::cuda
