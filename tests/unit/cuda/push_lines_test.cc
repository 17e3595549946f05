// SPDX-License-Identifier: Apache-2.0
// tern_push_lines on the host shim: the cases of push_kernel_test.cc, with whole lines of 128 bytes
// in any order. Torn lines and unchecked flags give wrong data.
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/cuda/push_ranks.hpp"
#include "tests/unit/cuda/reduce_cases.hpp"

namespace tern::cuda {
namespace {

/// FirstLine checks only the first of a warp's four flags.
struct FirstLine {
  TERN_DEVICE static bool counts(int line) { return line == 0; }
};
TERN_KERNEL(test_lines_unchecked, PushArguments, 256, together) {
  TERN_SHARED(PushShared, shared);
  Pusher<LinesWire<FirstLine>>(arguments, *shared).run();
}

constexpr int64_t kRoom = 120;
constexpr Wire wire(const char* kernel = "tern_push_lines") {
  return {kernel, kRoom, kRoom / 30 * 512, 64};
}

class PushLines : public testing::TestWithParam<int> {
 protected:
  /// Many ranks are slow on few cores.
  [[nodiscard]] static std::vector<size_t> some(const std::vector<size_t>& sizes) {
    return GetParam() < 9 ? sizes : std::vector<size_t>{1, 61, 481, 3};
  }

 private:
  const WeakMemory weak_{WeakMemory::kLines};
};
class OnePushLines : public test::ReduceCases {};
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
INSTANTIATE_TEST_SUITE_P(Ranks, PushLines, testing::Values(1, 2, 3));
#else
INSTANTIATE_TEST_SUITE_P(Ranks, PushLines, testing::Values(1, 2, 3, 5, 8, 17));
#endif

const std::vector<size_t> kLarge = {1, 61, 2003, 119, 120, 481, 3};

TEST_P(PushLines, SumsAndBlocksOfAllSizes) {
  Ranks ranks(GetParam(), wire());
  EXPECT_EQ(ranks.sums(some(kSizes)), 0);
  EXPECT_EQ(ranks.blocks(some(kSizes)), 0);
  EXPECT_EQ(ranks.sums(some(kLarge)), 0);
}

TEST_P(PushLines, SumsInTwoHopsAtAnyAddress) {
  Ranks ranks(GetParam(), wire());
  for (const size_t skew : {1, 4, 6}) {
    ranks.skew = skew;
    EXPECT_EQ(ranks.sums(some(skew == 4 ? kSizes : kLarge), true), 0);
  }
  EXPECT_EQ(ranks.sums(some(kLarge)), 0);
}

TEST_P(PushLines, FromOneToAllAndFromAllToOne) {
  Ranks ranks(GetParam(), wire());
  ranks.skew = 3;
  EXPECT_EQ(ranks.all(some(kSizes)), 0);
}

TEST_F(OnePushLines, FlagsThatAreNotLookedAtAreFound) {
  const WeakMemory weak{WeakMemory::kLines};
  const std::vector<size_t> many(40, 333);
  EXPECT_EQ(Ranks(2, wire()).sums(many), 0);
  EXPECT_GT(Ranks(2, wire("test_lines_unchecked")).sums(many), 0);
}

// PCIe tears lines.
TEST_F(OnePushLines, LinesThatTearAreFound) {
  const WeakMemory weak{WeakMemory::kAny};
  const std::vector<size_t> many(40, 333);
  EXPECT_GT(Ranks(2, wire()).sums(many), 0);
}

TEST_F(OnePushLines, WholeWarpsGiveUpAndTellTheOther) {
  const WeakMemory weak{WeakMemory::kLines};
  Ranks ranks(2, wire());
  ranks.timeout = 50000000;
  Ints in(std::vector<int>(999, 1), 0), out(std::vector<int>(999, -1), 0);
  Ranks::Call call{.what = PushArguments::kReduce, .in = in.at(), .out = out.at(), .ints = 999};
  call.blocks = kParts;
  call.spreads = true;
  ranks.launch(0, call);
  EXPECT_EQ(ranks.reports[0].state, KernelReport::kLate);
  EXPECT_EQ(ranks.reports[0].peer, 1);
  EXPECT_EQ(out.values()[0], -1);
  ranks.launch(1, call);
  EXPECT_EQ(ranks.reports[kParts].state, KernelReport::kTold);
  EXPECT_EQ(ranks.reports[kParts].peer, 0);
}

TEST_F(OnePushLines, EveryOperationOnEveryType) {
  constexpr int kRanks = 3;
  constexpr size_t kCount = 64, kSkew = 2;
  const WeakMemory weak{WeakMemory::kLines};
  Ranks lines(kRanks, wire()), words(kRanks, {"tern_push", 24, 24 * kLlBytes});
  for (const test::Case& c : test::cases()) {
    std::vector<std::vector<char>> sources;
    for (int rank = 0; rank < kRanks; ++rank) sources.push_back(random_bytes(c, kCount));
    const std::vector<char> wanted = expected(c, sources, kCount);
    for (Ranks* const ranks : {&lines, &words})
      for (const bool spreads : {false, true}) {
        std::vector<std::vector<char>> made(kRanks, std::vector<char>(wanted.size() + kSkew));
        ranks->run([&](int rank) {
          const auto mine = static_cast<size_t>(rank);
          ranks->launch(rank, {.what = PushArguments::kReduce,
                               .in = sources[mine].data(),
                               .out = made[mine].data() + kSkew,
                               .ints = wanted.size() / sizeof(int),
                               .spreads = spreads,
                               .blocks = kParts,
                               .number = static_cast<ReduceNumber>(c.plan.kernel),
                               .operation = c.operation});
        });
        for (const std::vector<char>& one : made)
          compare(c, one.data() + kSkew, wanted, kCount, spreads ? " in two hops" : "");
      }
  }
}

}  // namespace
}  // namespace tern::cuda
