// SPDX-License-Identifier: Apache-2.0
// tern_push alone on the host's shim and without a driver, ranks as threads: sums, blocks and
// barriers of many sizes one behind the other, where memory arrives in any order; passes that
// refresh the flags; a rank that gives up; and the same kernel with a flag that it does not look
// at.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

// Before the kernel's source.
#include "tests/softcuda/shim/device_host.hpp"
//
#include "cuda/kernels/push.cuh"
#include "tests/softcuda/shim/launch.h"

namespace tern::cuda {
namespace {

/// Looks away from the flag of the first word.
struct OneFlagMissing {
  TERN_DEVICE static bool all(const uint32_t (&flags)[kLlWords], uint32_t wanted) {
    return flags[1] == wanted && flags[2] == wanted && flags[3] == wanted;
  }
};
TERN_KERNEL(test_push_unchecked, PushArguments, 256, together) {
  TERN_SHARED(PushShared, shared);
  Pusher<OneFlagMissing>(arguments, *shared).run();
}

constexpr int kParts = 2;
constexpr int64_t kRoom = 24, kAbort = 4, kCounters = 64, kWords = 256;

struct alignas(16) Scratch {
  std::vector<uint64_t> words;
  [[nodiscard]] char* at() { return reinterpret_cast<char*>(words.data()); }
};

class Ranks {
 public:
  explicit Ranks(int ranks, const char* kernel = "tern_push")
      : ranks_(ranks), kernel_(kernel), scratch_(static_cast<size_t>(ranks)) {
    const int64_t bytes = kWords + 2 * ranks * kParts * kRoom * kLlBytes;
    for (Scratch& one : scratch_) one.words.resize(static_cast<size_t>(bytes / 8));
  }

  uint64_t refresh = (uint64_t{1} << 24) - 1;
  uint64_t patience = uint64_t{20} * 1000000000;
  std::vector<KernelReport> reports = std::vector<KernelReport>(16);

  void launch(int rank, PushArguments::What what, const std::vector<int>& in, std::vector<int>* out,
              int blocks) {
    PushArguments a{};
    for (int r = 0; r < ranks_; ++r) a.bases[r] = scratch_[static_cast<size_t>(r)].at();
    a.reports = &reports[static_cast<size_t>(rank * kParts)];
    a.input = reinterpret_cast<const char*>(in.data());
    a.output = reinterpret_cast<char*>(out->data());
    a.bytes = static_cast<int64_t>(in.size() * sizeof(int));
    a.stride = a.bytes;
    a.words = kWords;
    a.counters = kCounters;
    a.abort_word = kAbort;
    a.room = kRoom;
    a.patience = patience;
    a.refresh = refresh;
    a.ranks = ranks_;
    a.rank = rank;
    a.parts = kParts;
    a.what = what;
    a.kernel = static_cast<int32_t>(ReduceNumber::u32);
    a.operation = static_cast<int32_t>(Reduction::kSum);
    const TernHostKernels& kernels = *tern_host_kernels();
    const TernHostKernel* const found = kernels.find(kernel_);
    ASSERT_NE(found, nullptr);
    const TernLaunch shape{
        {static_cast<unsigned>(blocks), 1, 1}, {32, 1, 1}, sizeof(PushShared), 0};
    char why[256] = "";
    EXPECT_EQ(kernels.launch(found, &shape, &a, why, sizeof why), 0) << why;
  }

  /// Sums of vectors of these sizes, one behind the other: how many elements were wrong.
  int sums(const std::vector<size_t>& sizes) {
    std::atomic<int> wrong{0};
    run([&](int rank) {
      for (size_t n = 0; n < sizes.size(); ++n) {
        std::vector<int> data(sizes[n]);
        for (size_t i = 0; i < data.size(); ++i) data[i] = value(rank, n, i);
        launch(rank, PushArguments::kReduce, data, &data, blocks_of(sizes[n]));  // in place
        for (size_t i = 0; i < data.size(); ++i) {
          int sum = 0;
          for (int r = 0; r < ranks_; ++r) sum += value(r, n, i);
          if (data[i] != sum) ++wrong;
        }
      }
    });
    return wrong;
  }

  int blocks(const std::vector<size_t>& sizes) {
    std::atomic<int> wrong{0};
    run([&](int rank) {
      for (size_t n = 0; n < sizes.size(); ++n) {
        std::vector<int> mine(sizes[n]), all(sizes[n] * static_cast<size_t>(ranks_), -1);
        for (size_t i = 0; i < mine.size(); ++i) mine[i] = value(rank, n, i);
        launch(rank, PushArguments::kGather, mine, &all, blocks_of(sizes[n]));
        for (size_t i = 0; i < all.size(); ++i)
          if (all[i] != value(static_cast<int>(i / sizes[n]), n, i % sizes[n])) ++wrong;
      }
    });
    return wrong;
  }

  template <class Body>
  void run(const Body& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks_; ++rank) threads.emplace_back([&, rank] { body(rank); });
    for (std::thread& one : threads) one.join();
  }

 private:
  static int value(int rank, size_t call, size_t i) {
    return rank * 1000003 + static_cast<int>(call * 7919 + i * 31);
  }
  static int blocks_of(size_t ints) { return ints > 40 ? kParts : 1; }

  const int ranks_;
  const char* const kernel_;
  std::vector<Scratch> scratch_;
};

const std::vector<size_t> kSizes = {1, 3, 40, 1, 251, 97, 2, 1003, 5, 4, 333, 64};

/// As behind PCIe: each store of 8 bytes comes on its own.
struct WeakMemory {
  WeakMemory() {
    tern_host_kernels()->set_arrival([](const void*) { return 2; });
  }
  ~WeakMemory() { tern_host_kernels()->set_arrival(nullptr); }
};
class PushKernel : public testing::TestWithParam<int> {
  const WeakMemory weak_;
};
class OnePushKernel : public testing::Test {
  const WeakMemory weak_;
};
INSTANTIATE_TEST_SUITE_P(Ranks, PushKernel, testing::Values(1, 2, 3, 5));

TEST_P(PushKernel, SumsAndBlocksOfAllSizes) {
  Ranks ranks(GetParam());
  EXPECT_EQ(ranks.sums(kSizes), 0);
  EXPECT_EQ(ranks.blocks(kSizes), 0);
  EXPECT_EQ(ranks.sums(kSizes), 0);
}

// Every fourth pair of passes moves whole slots.
TEST_P(PushKernel, PassesThatRefreshFlags) {
  Ranks ranks(GetParam());
  ranks.refresh = 7;
  EXPECT_EQ(ranks.sums(kSizes), 0);
  ranks.refresh = 0;
  EXPECT_EQ(ranks.blocks(kSizes), 0);
}

TEST_P(PushKernel, NobodyLeavesABarrierBeforeAllHaveCome) {
  const int n = GetParam();
  Ranks ranks(n);
  std::atomic<int> come{0};
  ranks.run([&](int rank) {
    std::vector<int> none;
    for (int round = 1; round <= 20; ++round) {
      ++come;
      ranks.launch(rank, PushArguments::kBarrier, none, &none, 1);
      EXPECT_GE(come.load(), round * n);
    }
  });
}

// What the flags are for: without one of them data is taken that has not come.
TEST_F(OnePushKernel, AFlagThatIsNotLookedAtIsFound) {
  const std::vector<size_t> many(40, 333);
  EXPECT_EQ(Ranks(2).sums(many), 0);
  EXPECT_GT(Ranks(2, "test_push_unchecked").sums(many), 0);
}

TEST_F(OnePushKernel, ItGivesUpAndTellsTheOther) {
  Ranks ranks(2);
  ranks.patience = 50000000;
  std::vector<int> in(17, 1), out(17, -1);
  ranks.launch(0, PushArguments::kReduce, in, &out, 1);
  EXPECT_EQ(ranks.reports[0].state, KernelReport::kLate);
  EXPECT_EQ(ranks.reports[0].peer, 1);
  EXPECT_EQ(out[0], -1);
  ranks.launch(1, PushArguments::kReduce, in, &out, 1);
  EXPECT_EQ(ranks.reports[kParts].state, KernelReport::kTold);
  EXPECT_EQ(ranks.reports[kParts].peer, 0);
}

}  // namespace
}  // namespace tern::cuda
