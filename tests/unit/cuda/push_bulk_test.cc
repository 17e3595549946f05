// SPDX-License-Identifier: Apache-2.0
// tern_push_bulk on the host shim: the cases of push_kernel_test.cc. Stores arrive in any order.
// The test finds a missing fence.
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/cuda/push_ranks.hpp"
#include "tests/unit/cuda/reduce_cases.hpp"

namespace tern::cuda {
namespace {

struct NoFenceBefore : BulkOrder {
  TERN_DEVICE static void before_flags() {}
};
TERN_KERNEL(test_bulk_no_release, PushArguments, 256, together) {
  TERN_SHARED(PushShared, shared);
  BulkPusher<NoFenceBefore>(arguments, *shared).run();
}

// 8 vectors a thread fill a batch.
constexpr int64_t kRoom = 320;
constexpr Wire wire(const char* kernel = "tern_push_bulk") { return {kernel, kRoom, kRoom * 16}; }

class PushBulk : public testing::TestWithParam<int> {
  const WeakMemory weak_;
};
class OnePushBulk : public test::ReduceCases {
  const WeakMemory weak_;
};
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
INSTANTIATE_TEST_SUITE_P(Ranks, PushBulk, testing::Values(1, 2, 3));
#else
INSTANTIATE_TEST_SUITE_P(Ranks, PushBulk, testing::Values(1, 2, 3, 5, 8));
#endif

// A batch, a part of a batch, and several passes.
const std::vector<size_t> kLarge = {1, 1024, 2003, 4096, 1027, 5119, 3, 2560};

TEST_P(PushBulk, SumsAndBlocksOfAllSizes) {
  Ranks ranks(GetParam(), wire());
  EXPECT_EQ(ranks.sums(kSizes), 0);
  EXPECT_EQ(ranks.blocks(kSizes), 0);
  EXPECT_EQ(ranks.sums(kLarge), 0);
  EXPECT_EQ(ranks.blocks(kLarge), 0);
}

TEST_P(PushBulk, SumsInTwoHopsAtAnyAddress) {
  Ranks ranks(GetParam(), wire());
  for (const size_t skew : {0, 1, 4, 6}) {
    ranks.skew = skew;
    EXPECT_EQ(ranks.sums(skew == 4 ? kSizes : kLarge, true), 0);
  }
  EXPECT_EQ(ranks.sums(kLarge), 0);
}

TEST_P(PushBulk, FromOneToAllAndFromAllToOne) {
  Ranks ranks(GetParam(), wire());
  EXPECT_EQ(ranks.all(kSizes), 0);
  ranks.skew = 3;
  EXPECT_EQ(ranks.all({1, 1500, 61, 4099}), 0);
}

// A rank may launch a kernel per chunk, and its peer one kernel.
TEST_P(PushBulk, Chunks) {
  Ranks ranks(GetParam(), wire());
  for (const int64_t chunk : {160, 4096}) {
    ranks.chunk = chunk;
    EXPECT_EQ(ranks.sums({1, 1003, 3, 4100}, true), 0);
    EXPECT_EQ(ranks.all({2, 61, 1500}), 0);
  }
}

TEST_F(OnePushBulk, AMissingFenceBeforeFlagsIsFound) {
  const std::vector<size_t> many(20, 8197);  // sets are used again
  EXPECT_EQ(Ranks(2, wire()).sums(many), 0);
  EXPECT_GT(Ranks(2, wire("test_bulk_no_release")).sums(many), 0);
}

TEST_F(OnePushBulk, ItGivesUpAndTellsTheOther) {
  for (const bool spreads : {false, true}) {
    Ranks ranks(2, wire());
    ranks.timeout = 50000000;
    Ints in(std::vector<int>(9999, 1), 0), out(std::vector<int>(9999, -1), 0);
    Ranks::Call call{.what = PushArguments::kReduce, .in = in.at(), .out = out.at(), .ints = 9999};
    call.blocks = kParts;
    call.spreads = spreads;
    ranks.launch(0, call);
    EXPECT_EQ(ranks.reports[0].state, KernelReport::kLate);
    EXPECT_EQ(ranks.reports[0].peer, 1);
    EXPECT_EQ(out.values()[0], -1);
    ranks.launch(1, call);
    EXPECT_EQ(ranks.reports[kParts].state, KernelReport::kTold);
    EXPECT_EQ(ranks.reports[kParts].peer, 0);
  }
}

TEST_F(OnePushBulk, ABcastOfTwoHopsGivesUp) {
  for (const int root : {0, 1}) {
    Ranks ranks(3, wire());
    ranks.timeout = 50000000;
    Ints data(std::vector<int>(9999, 1), 0);
    Ranks::Call call{.ints = 9999, .to = PushArguments::kNoRank, .from = root, .spreads = true};
    Ranks::Call of_root = call;
    of_root.to = PushArguments::kAllRanks, of_root.from = PushArguments::kNoRank;
    of_root.in = call.out = data.at();
    ranks.launch(0, root == 0 ? of_root : call);  // waits for flags of the first hop
    EXPECT_EQ(ranks.reports[0].state, KernelReport::kLate);
    ranks.launch(1, root == 1 ? of_root : call);
    EXPECT_EQ(ranks.reports[kParts].state, KernelReport::kTold);
    EXPECT_EQ(ranks.reports[kParts].peer, 0);
  }
}

TEST_F(OnePushBulk, EveryOperationOnEveryType) {
  constexpr int kRanks = 3;
  constexpr size_t kCount = 2200, kSkew = 2;
  Ranks ranks(kRanks, wire());
  for (const test::Case& c : test::cases()) {
    std::vector<std::vector<char>> sources;
    for (int rank = 0; rank < kRanks; ++rank) sources.push_back(random_bytes(c, kCount));
    const std::vector<char> wanted = expected(c, sources, kCount);
    for (const bool spreads : {false, true}) {
      std::vector<std::vector<char>> made(kRanks, std::vector<char>(wanted.size() + kSkew));
      ranks.run([&](int rank) {
        const auto mine = static_cast<size_t>(rank);
        ranks.launch(rank, {.what = PushArguments::kReduce,
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
