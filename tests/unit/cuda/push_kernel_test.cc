// SPDX-License-Identifier: Apache-2.0
// tern_push on the host shim, without a driver, with ranks as threads and stores in any order: sums
// in one hop and two, blocks, barriers, and data from one rank to all or from all to one, in many
// sizes back to back. Also: passes that refresh the flags, a rank that times out, and the kernel
// with an unchecked flag.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <vector>

#include "tests/unit/cuda/push_ranks.hpp"

namespace tern::cuda {
namespace {

/// Ignores the flag of the first word.
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

// A rank that only sends learns of its peers' progress at its next write.
TEST_P(PushKernel, FromOneToAllAndFromAllToOne) {
  Ranks ranks(GetParam(), wire());
  EXPECT_EQ(ranks.all(kSizes), 0);
}

// Every fourth pair of passes moves whole slots.
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

// With an unchecked flag, the kernel takes data before its arrival.
TEST_F(OnePushKernel, AFlagThatIsNotLookedAtIsFound) {
  const std::vector<size_t> many(40, 333);
  EXPECT_EQ(Ranks(2, wire()).sums(many), 0);
  EXPECT_GT(Ranks(2, wire("test_push_unchecked")).sums(many), 0);
}

TEST_F(OnePushKernel, ItGivesUpAndTellsTheOther) {
  Ranks ranks(2, wire());
  ranks.patience = 50000000;
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
