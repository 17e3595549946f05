// SPDX-License-Identifier: Apache-2.0
// tern_push alone on the host's shim and without a driver, ranks as threads: sums in one hop and in
// two, blocks, barriers, and what goes from one rank to all or from all to one, of many sizes one
// behind the other, where memory arrives in any order; passes that refresh the flags; a rank that
// gives up; and the same kernel with a flag that it does not look at.
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

  /// What a rank gives and gets, as the caller has it. The test's blocks adjoin.
  struct Call {
    PushArguments::What what = PushArguments::kCopy;
    const int* in = nullptr;
    int* out = nullptr;
    size_t ints = 0;  // of the vector, or of a block
    bool in_blocks = false, out_blocks = false;
    int32_t to = PushArguments::kAllRanks, from = PushArguments::kAllRanks;
    bool spreads = false;
    int blocks = 1;  // of threads
  };

  void launch(int rank, const Call& call) {
    PushArguments a{};
    for (int r = 0; r < ranks_; ++r) a.bases[r] = scratch_[static_cast<size_t>(r)].at();
    a.reports = &reports[static_cast<size_t>(rank * kParts)];
    a.input = reinterpret_cast<const char*>(call.in);
    a.output = reinterpret_cast<char*>(call.out);
    a.bytes = a.total = static_cast<int64_t>(call.ints * sizeof(int));
    if (call.in_blocks) a.input_stride = a.bytes;
    if (call.out_blocks) a.output_stride = a.bytes;
    if (call.spreads) {
      a.bytes = ((a.total + 15) / 16 + ranks_ - 1) / ranks_ * 16;
      a.input_stride = a.output_stride = a.bytes;
    }
    a.words = kWords;
    a.counters = kCounters;
    a.abort_word = kAbort;
    a.room = kRoom;
    a.patience = patience;
    a.refresh = refresh;
    a.ranks = ranks_;
    a.rank = rank;
    a.parts = kParts;
    a.what = call.what;
    a.to = call.to;
    a.from = call.from;
    a.spread = call.spreads ? 1 : 0;
    a.kernel = static_cast<int32_t>(ReduceNumber::u32);
    a.operation = static_cast<int32_t>(Reduction::kSum);
    const TernHostKernels& kernels = *tern_host_kernels();
    const TernHostKernel* const found = kernels.find(kernel_);
    ASSERT_NE(found, nullptr);
    const TernLaunch shape{
        {static_cast<unsigned>(call.blocks), 1, 1}, {32, 1, 1}, sizeof(PushShared), 0};
    char why[256] = "";
    EXPECT_EQ(kernels.launch(found, &shape, &a, why, sizeof why), 0) << why;
  }

  /// Sums of vectors of these sizes, one behind the other: how many elements were wrong.
  int sums(const std::vector<size_t>& sizes, bool spreads = false) {
    std::atomic<int> wrong{0};
    run([&](int rank) {
      for (size_t n = 0; n < sizes.size(); ++n) wrong += sum(rank, n, sizes[n], spreads);
    });
    return wrong;
  }

  int blocks(const std::vector<size_t>& sizes) {
    std::atomic<int> wrong{0};
    run([&](int rank) {
      for (size_t n = 0; n < sizes.size(); ++n) wrong += gather(rank, n, sizes[n], -1);
    });
    return wrong;
  }

  /// All that a rank can have to give and to get, one behind the other.
  int all(const std::vector<size_t>& sizes) {
    std::atomic<int> wrong{0};
    run([&](int rank) {
      for (size_t n = 0; n < sizes.size(); ++n) {
        const int root = static_cast<int>(n * 7) % ranks_;
        wrong += bcast(rank, n, sizes[n], root);
        if (n % 3 == 0) wrong += bcast(rank, n + 100, 3 * sizes[n], root);  // from one again
        wrong += sum(rank, n, sizes[n], n % 2 == 0);
        wrong += scatter(rank, n, sizes[n], root);
        wrong += alltoall(rank, n, sizes[n]);
        wrong += gather(rank, n, sizes[n], root);
        if (n % 4 == 1) wrong += gather(rank, n, sizes[n], (root + 1) % ranks_);
        wrong += reduce_scatter(rank, n, sizes[n]);
        wrong += reduce(rank, n, sizes[n], root);
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
  [[nodiscard]] int sum_of(size_t call, size_t i) const {
    int sum = 0;
    for (int r = 0; r < ranks_; ++r) sum += value(r, call, i);
    return sum;
  }
  /// A vector, or a block for each rank.
  static std::vector<int> values(int rank, size_t call, size_t ints) {
    std::vector<int> data(ints);
    for (size_t i = 0; i < ints; ++i) data[i] = value(rank, call, i);
    return data;
  }
  [[nodiscard]] size_t many(size_t ints) const { return ints * static_cast<size_t>(ranks_); }
  template <class Wanted>
  static int differing(const std::vector<int>& data, size_t ints, const Wanted& wanted) {
    int wrong = 0;
    for (size_t i = 0; i < ints; ++i) wrong += data[i] != wanted(i) ? 1 : 0;
    return wrong;
  }

  int sum(int rank, size_t n, size_t ints, bool spreads) {  // in place
    std::vector<int> data = values(rank, n, ints);
    launch(rank, {.what = PushArguments::kReduce,
                  .in = data.data(),
                  .out = data.data(),
                  .ints = ints,
                  .spreads = spreads,
                  .blocks = blocks_of(ints)});
    return differing(data, ints, [&](size_t i) { return sum_of(n, i); });
  }
  /// To all where there is no root.
  int gather(int rank, size_t n, size_t ints, int root) {
    const std::vector<int> mine = values(rank, n, ints);
    std::vector<int> data(many(ints), -1);
    Call call{.in = mine.data(), .out = data.data(), .ints = ints, .out_blocks = true};
    call.blocks = blocks_of(ints);
    if (root >= 0) {
      call.to = rank == root ? PushArguments::kNoRank : root;
      call.from = rank == root ? PushArguments::kAllRanks : PushArguments::kNoRank;
      if (rank != root) call.out = nullptr;
    }
    launch(rank, call);
    return differing(data, data.size(), [&](size_t i) {
      return call.out == nullptr ? -1 : value(static_cast<int>(i / ints), n, i % ints);
    });
  }
  int bcast(int rank, size_t n, size_t ints, int root) {
    std::vector<int> data = rank == root ? values(rank, n, ints) : std::vector<int>(ints, -1);
    Call call{.ints = ints, .blocks = blocks_of(ints)};
    (rank == root ? call.to : call.from) = PushArguments::kAllRanks;
    (rank == root ? call.from : call.to) = PushArguments::kNoRank;
    if (rank == root)
      call.in = data.data();
    else
      call.out = data.data(), call.from = root;
    launch(rank, call);
    return differing(data, ints, [&](size_t i) { return value(root, n, i); });
  }
  int scatter(int rank, size_t n, size_t ints, int root) {
    const std::vector<int> all = values(root, n, many(ints));
    std::vector<int> data(ints, -1);
    Call call{.out = data.data(), .ints = ints, .in_blocks = true, .blocks = blocks_of(ints)};
    call.to = rank == root ? PushArguments::kAllRanks : PushArguments::kNoRank;
    call.from = rank == root ? PushArguments::kNoRank : root;
    if (rank == root) call.in = all.data();
    launch(rank, call);
    return differing(data, ints,
                     [&](size_t i) { return all[static_cast<size_t>(rank) * ints + i]; });
  }
  int alltoall(int rank, size_t n, size_t ints) {  // in place
    std::vector<int> data = values(rank, n, many(ints));
    launch(rank, {.in = data.data(),
                  .out = data.data(),
                  .ints = ints,
                  .in_blocks = true,
                  .out_blocks = true,
                  .blocks = blocks_of(ints)});
    return differing(data, data.size(), [&](size_t i) {
      return value(static_cast<int>(i / ints), n, static_cast<size_t>(rank) * ints + i % ints);
    });
  }
  int reduce_scatter(int rank, size_t n, size_t ints) {  // in place
    std::vector<int> data = values(rank, n, many(ints));
    launch(rank, {.what = PushArguments::kReduce,
                  .in = data.data(),
                  .out = data.data(),
                  .ints = ints,
                  .in_blocks = true,
                  .blocks = blocks_of(ints)});
    return differing(data, ints,
                     [&](size_t i) { return sum_of(n, static_cast<size_t>(rank) * ints + i); });
  }
  int reduce(int rank, size_t n, size_t ints, int root) {
    const std::vector<int> mine = values(rank, n, ints);
    std::vector<int> data(ints, -1);
    Call call{.what = PushArguments::kReduce, .in = mine.data(), .ints = ints};
    call.blocks = blocks_of(ints);
    call.to = rank == root ? PushArguments::kNoRank : root;
    call.from = rank == root ? PushArguments::kAllRanks : PushArguments::kNoRank;
    if (rank == root) call.out = data.data();
    launch(rank, call);
    return differing(data, ints, [&](size_t i) { return rank == root ? sum_of(n, i) : -1; });
  }

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

TEST_P(PushKernel, SumsInTwoHops) {
  Ranks ranks(GetParam());
  EXPECT_EQ(ranks.sums(kSizes, true), 0);
  EXPECT_EQ(ranks.sums(kSizes), 0);
}

// Who only sends hears from the others when it writes again.
TEST_P(PushKernel, FromOneToAllAndFromAllToOne) {
  Ranks ranks(GetParam());
  EXPECT_EQ(ranks.all(kSizes), 0);
}

// Every fourth pair of passes moves whole slots.
TEST_P(PushKernel, PassesThatRefreshFlags) {
  Ranks ranks(GetParam());
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
  Ranks ranks(n);
  std::atomic<int> come{0};
  ranks.run([&](int rank) {
    for (int round = 1; round <= 20; ++round) {
      ++come;
      ranks.launch(rank, {.what = PushArguments::kBarrier});
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
  const Ranks::Call call{
      .what = PushArguments::kReduce, .in = in.data(), .out = out.data(), .ints = in.size()};
  ranks.launch(0, call);
  EXPECT_EQ(ranks.reports[0].state, KernelReport::kLate);
  EXPECT_EQ(ranks.reports[0].peer, 1);
  EXPECT_EQ(out[0], -1);
  ranks.launch(1, call);
  EXPECT_EQ(ranks.reports[kParts].state, KernelReport::kTold);
  EXPECT_EQ(ranks.reports[kParts].peer, 0);
}

}  // namespace
}  // namespace tern::cuda
