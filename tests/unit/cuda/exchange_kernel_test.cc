// SPDX-License-Identifier: Apache-2.0
// tern_exchange on the host shim. Stores arrive in any order.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/unit/cuda/push_ranks.hpp"
//
#include "cuda/kernels/exchange.cuh"
#include "tests/softcuda/shim/fiber.hpp"

namespace tern::cuda {
namespace {

/// TakesNoLeave writes a chunk before the receiver has read the last.
struct TakesNoLeave {
  static constexpr bool kForLeave = false, kForData = true;
};
TERN_KERNEL(test_exchange_at_once, ExchangeArguments, 256, together) {
  TERN_SHARED(InterpretShared, shared);
  Exchanger<TakesNoLeave>(arguments, *shared).run();
}

constexpr int64_t kEach = 256, kData = 1024, kCredit = 4096, kInbox = 8192;
constexpr int64_t kLeast = 32;

using Sizes = std::vector<std::vector<std::vector<int64_t>>>;

class Exchange {
 public:
  explicit Exchange(int ranks)
      : reports(static_cast<size_t>(ranks * kParts)),
        ranks_(ranks),
        scratch_(static_cast<size_t>(ranks)) {
    const int64_t bytes = kInbox + 2 * ranks * kParts * kEach;
    for (Scratch& one : scratch_) {
      one.lines.resize(static_cast<size_t>(bytes / 128 + 1));
      auto* const words = reinterpret_cast<uint32_t*>(one.at() + kCredit);
      for (int i = 0; i < 2 * ranks * kParts; ++i) words[i] = 1;
    }
  }

  std::vector<KernelReport> reports;
  uint64_t timeout = uint64_t{20} * 1000000000;
  uint32_t number = 0;
  bool in_steps = false;
  const char* kernel = "tern_exchange";

  int64_t run(const Sizes& sizes) { return run(sizes, sizes); }
  /// `asked`: the receivers' sizes.
  int64_t run(const Sizes& sent, const Sizes& asked) {
    ++number;
    std::vector<int64_t> wrong(static_cast<size_t>(ranks_));
    std::vector<std::thread> all;
    for (int rank = 0; rank < ranks_; ++rank)
      all.emplace_back([&, rank] { wrong[static_cast<size_t>(rank)] = one(rank, sent, asked); });
    int64_t sum = 0;
    for (std::thread& thread : all) thread.join();
    for (const int64_t some : wrong) sum += some;
    return sum;
  }
  int64_t one(int rank, const Sizes& sent, const Sizes& asked) {
    ExchangeArguments a = arguments(rank);
    std::vector<std::vector<char>> out, in;
    const auto of = [](const Sizes& sizes, int from, int to) {
      return sizes[static_cast<size_t>(from)][static_cast<size_t>(to)];
    };
    for (int k = 1; k <= ranks_; ++k) {
      const int to = (rank + k) % ranks_;
      int which = 0;
      for (const int64_t bytes : of(sent, rank, to))
        out.push_back(data(bytes, rank, to, which++)), add(&a, &a.sent, out.back(), to);
    }
    for (int k = 1; k <= ranks_; ++k) {
      const int from = (rank + ranks_ - k) % ranks_;
      for (const int64_t bytes : of(asked, from, rank))
        in.emplace_back(static_cast<size_t>(bytes)), add(&a, &a.received, in.back(), from);
    }
    launch_all(a);
    int64_t wrong = 0;
    size_t i = 0;
    for (int k = 1; k <= ranks_; ++k) {
      const int from = (rank + ranks_ - k) % ranks_;
      int which = 0;
      for (const int64_t bytes : of(asked, from, rank)) {
        const std::vector<char> expected = data(bytes, from, rank, which++);
        for (size_t at = 0; at < expected.size(); ++at) wrong += in[i][at] != expected[at] ? 1 : 0;
        ++i;
      }
    }
    return wrong;
  }

 private:
  [[nodiscard]] std::vector<char> data(int64_t bytes, int from, int to, int which) const {
    std::vector<char> made(static_cast<size_t>(bytes));
    for (size_t i = 0; i < made.size(); ++i)
      made[i] = static_cast<char>(i * 7 + i / 256 + static_cast<size_t>(from * 16 + to) * 3 +
                                  static_cast<size_t>(which) * 101 + number * 13);
    return made;
  }
  [[nodiscard]] ExchangeArguments arguments(int rank) {
    ExchangeArguments a{};
    for (int r = 0; r < ranks_; ++r) a.bases[r] = scratch_[static_cast<size_t>(r)].at();
    a.reports = &reports[static_cast<size_t>(rank * kParts)];
    a.pairs = {kInbox, kParts * kEach, kEach, kData, kCredit, kParts, kParts};
    a.abort_word = kAbort;
    a.least = kLeast;
    a.timeout = timeout;
    a.ranks = ranks_;
    a.rank = rank;
    a.parts = kParts;
    a.set = static_cast<int32_t>(number & 1);
    a.number = number;
    return a;
  }
  void add(ExchangeArguments* a, int32_t* count, std::vector<char>& block, int peer) {
    ExchangeArguments::Block* const made = &a->blocks[a->sent + a->received];
    const auto bytes = static_cast<int64_t>(block.size());
    *made = {block.data(), bytes, 0, static_cast<int16_t>(peer), 0};
    if (*count > 0 && made[-1].peer == peer) {
      const int64_t step = kParts * exchange_part(made[-1].bytes, kParts, kLeast, kEach);
      made->first = made[-1].first + static_cast<int32_t>((made[-1].bytes + step - 1) / step);
    }
    ++*count;
  }
  void launch_all(ExchangeArguments a) {
    constexpr int64_t kSteps = 40;
    for (int64_t step = 0; step < kSteps; step = a.end) {
      a.begin = step;
      a.end = in_steps ? step + 1 : kSteps;
      const TernHostKernels& kernels = *tern_host_kernels();
      const TernLaunch shape{{kParts, 1, 1}, {32, 1, 1}, sizeof(InterpretShared), 0};
      char why[256] = "";
      EXPECT_EQ(kernels.launch(kernels.find(kernel), &shape, &a, why, sizeof why), 0) << why;
    }
  }

  const int ranks_;
  std::vector<Scratch> scratch_;
};

Sizes sizes_of(int ranks, unsigned seed, unsigned most) {
  Sizes all(static_cast<size_t>(ranks));
  for (auto& from : all) {
    from.resize(static_cast<size_t>(ranks));
    for (auto& pair : from) {
      seed = seed * 1664525 + 1013904223;
      for (unsigned i = 0; i < (seed >> 16) % (most + 1); ++i) {
        seed = seed * 1664525 + 1013904223;
        const unsigned kind = (seed >> 20) % 3;
        pair.push_back(1 + (seed >> 8) % (kind == 0 ? 20 : kind == 1 ? 600 : 5000));
      }
    }
  }
  return all;
}

class ExchangeKernel : public testing::TestWithParam<int> {
  const WeakMemory weak_;
};
class OneExchange : public testing::Test {
  const WeakMemory weak_;
};
INSTANTIATE_TEST_SUITE_P(Ranks, ExchangeKernel, testing::Values(1, 2, 3, 5));

TEST_P(ExchangeKernel, BlocksOfAllSizes) {
  Exchange exchange(GetParam());
  for (unsigned seed = 1; seed <= 12; ++seed)
    EXPECT_EQ(exchange.run(sizes_of(GetParam(), seed, 1)), 0) << seed;
}

TEST_P(ExchangeKernel, SeveralBlocksOfAPair) {
  Exchange exchange(GetParam());
  for (unsigned seed = 1; seed <= 6; ++seed)
    EXPECT_EQ(exchange.run(sizes_of(GetParam(), seed, 4)), 0) << seed;
}

TEST_P(ExchangeKernel, ALaunchForEachStep) {
  Exchange exchange(GetParam());
  exchange.in_steps = true;
  for (unsigned seed = 1; seed <= 2; ++seed)
    EXPECT_EQ(exchange.run(sizes_of(GetParam(), seed, 2)), 0) << seed;
}

TEST_F(OneExchange, SizesThatDifferAreFoundByTheReceiver) {
  Exchange exchange(2);
  const Sizes sent = {{{}, {100}}, {{}, {}}}, asked = {{{}, {90}}, {{}, {}}};
  exchange.run(sent, asked);
  EXPECT_EQ(exchange.reports[kParts].state, KernelReport::kLate);
  EXPECT_EQ(exchange.reports[kParts].message, Instruction::kLength);
  EXPECT_EQ(exchange.reports[kParts].peer, 0);
}

TEST_F(OneExchange, WhatAnEarlierCallLeftIsNotTaken) {
  Exchange exchange(2);
  exchange.timeout = 200000000;
  const Sizes none = {{{}, {}}, {{}, {}}}, one = {{{}, {100}}, {{}, {}}};
  exchange.run(one, none);
  ++exchange.number;  // the same half of the double buffer
  exchange.timeout = 20000000000;
  exchange.run(one);
  EXPECT_EQ(exchange.reports[kParts].message, Instruction::kLength);
}

TEST_F(OneExchange, ItGivesUpAndSaysForWhom) {
  Exchange exchange(3);
  exchange.timeout = 50000000;
  const Sizes sizes = {{{}, {}, {}}, {{100}, {}, {}}, {{100}, {}, {}}};
  exchange.one(2, sizes, sizes);
  exchange.one(0, sizes, sizes);
  EXPECT_EQ(exchange.reports[0].state, KernelReport::kLate);
  EXPECT_EQ(exchange.reports[0].peer, 1);
  EXPECT_EQ(exchange.reports[0].message, 0);
}

TEST_F(OneExchange, ChunksThatAreWrittenTooEarlyAreFound) {
  if (softcuda::tsan()) GTEST_SKIP() << "TSan would find it first";
  Exchange exchange(3);
  exchange.kernel = "test_exchange_at_once";
  int64_t wrong = 0;
  for (unsigned seed = 1; seed <= 20 && wrong == 0; ++seed) {
    exchange.timeout = 300000000;
    wrong += exchange.run(sizes_of(3, seed, 2));
  }
  EXPECT_GT(wrong, 0);
}

}  // namespace
}  // namespace tern::cuda
