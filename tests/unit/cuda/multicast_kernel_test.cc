// SPDX-License-Identifier: Apache-2.0
// tern_multicast on the host shim, over addresses of the memory of all ranks. Stores arrive in any
// order.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

// device_host.hpp must precede the kernel's source.
#include "tests/softcuda/shim/device_host.hpp"
//
#include "cuda/kernels/multicast.cuh"
#include "tests/softcuda/shim/launch.h"
#include "tests/unit/cuda/reduce_cases.hpp"

namespace tern::cuda {
namespace {

struct WordsInAnyOrder {
  TERN_DEVICE static uint32_t load(const uint32_t* word) { return ptx::load_relaxed_system(word); }
};
TERN_KERNEL(test_multicast_unordered, MulticastArguments, 256, together) {
  TERN_SHARED(PushShared, shared);
  Multicaster<WordsInAnyOrder>(arguments, *shared).run();
}

constexpr int kParts = 2;
constexpr int64_t kAbort = 4, kNumbers = 64, kWords = 256, kStage = 2048;
constexpr int64_t kRoom = 37;  // vectors per block

class Memory {
 public:
  explicit Memory(int ranks) : bytes_(static_cast<size_t>(kStage + ranks * kRoom * 16)) {
    for (int rank = 0; rank < ranks; ++rank) own_.push_back(map(PROT_READ | PROT_WRITE));
    all_ = map(PROT_NONE);
    here = this;
    tern_host_kernels()->set_copies(find);
  }
  ~Memory() {
    tern_host_kernels()->set_copies(nullptr);
    here = nullptr;
    for (char* const one : own_) munmap(one, bytes_);
    munmap(all_, bytes_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] char* own(int rank) const { return own_[static_cast<size_t>(rank)]; }
  [[nodiscard]] char* all() const { return all_; }

 private:
  [[nodiscard]] char* map(int protection) const {
    return static_cast<char*>(
        mmap(nullptr, bytes_, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  static int find(const void* address, void** copies, int most) {
    const auto offset = static_cast<size_t>(static_cast<const char*>(address) - here->all_);
    if (offset >= here->bytes_) return 0;
    int count = 0;
    for (char* const one : here->own_)
      if (count < most) copies[count++] = one + offset;
    return count;
  }
  static inline Memory* here = nullptr;
  size_t bytes_;
  std::vector<char*> own_;
  char* all_ = nullptr;
};

struct WeakMemory {
  WeakMemory() {
    tern_host_kernels()->set_arrival([](const void*) { return 2; });
  }
  ~WeakMemory() { tern_host_kernels()->set_arrival(nullptr); }
  WeakMemory(const WeakMemory&) = delete;
  WeakMemory& operator=(const WeakMemory&) = delete;
};

using What = MulticastArguments::What;
enum class Data { kPlain, kPacked };  // packed as coll/gpu/multicast_run.cc does

class Ranks {
 public:
  explicit Ranks(int ranks, const char* kernel = "tern_multicast")
      : reports(static_cast<size_t>(ranks * kParts)),
        memory_(ranks),
        ranks_(ranks),
        kernel_(kernel),
        scratch_(static_cast<size_t>(ranks)) {}

  [[nodiscard]] char* own(int rank) const { return memory_.own(rank); }
  uint64_t timeout = uint64_t{20} * 1000000000;
  size_t skew = 0;
  std::vector<KernelReport> reports;

  struct Call {
    What what = MulticastArguments::kAllreduce;
    const char* in = nullptr;
    char* out = nullptr;
    int64_t bytes = 0;
    int root = 0;
    MultimemReduction reduction = MultimemReduction::u32_Sum;
    int64_t begin = 0, end = -1;
  };

  void launch(int rank, const Call& call) {
    MulticastArguments a{};
    for (int r = 0; r < ranks_; ++r) a.bases[r] = scratch_[static_cast<size_t>(r)].bytes;
    a.reports = &reports[static_cast<size_t>(rank * kParts)];
    a.input = call.in;
    a.output = call.out;
    a.own = memory_.own(rank);
    a.all = memory_.all();
    a.bytes = a.input_stride = a.output_stride = call.bytes;
    a.begin = call.begin;
    a.end = call.end < 0 ? (call.bytes + 15) / 16 : call.end;
    a.words = kWords;
    a.numbers = kNumbers;
    a.stage = kStage;
    a.room = room_of(call.bytes);
    a.abort_word = kAbort;
    a.timeout = timeout;
    a.ranks = ranks_;
    a.rank = rank;
    a.root = call.root;
    a.what = call.what;
    a.reduction = static_cast<int32_t>(call.reduction);
    const TernHostKernels& kernels = *tern_host_kernels();
    const TernHostKernel* const found = kernels.find(kernel_);
    ASSERT_NE(found, nullptr);
    const unsigned blocks = call.bytes > 100 ? kParts : 1;
    const TernLaunch shape{{blocks, 1, 1}, {32, 1, 1}, sizeof(PushShared), 0};
    char why[256] = "";
    EXPECT_EQ(kernels.launch(found, &shape, &a, why, sizeof why), 0) << why;
  }

  void launch_packed(int rank, const Call& call) {
    const int64_t vectors = (call.bytes + 15) / 16, room = room_of(call.bytes);
    const bool gathers = call.what == MulticastArguments::kAllgather,
               scatters = call.what == MulticastArguments::kReduceScatter;
    for (int64_t first = 0; first < vectors; first += room) {
      const int64_t end = std::min(vectors, first + room);
      const auto bytes = static_cast<size_t>(std::min(call.bytes, end * 16) - first * 16);
      const auto stage = [&](int block) { return memory_.own(rank) + kStage + block * room * 16; };
      if (call.in != nullptr)
        for (int block = 0; block < (scatters ? ranks_ : 1); ++block)
          std::memcpy(stage(gathers ? rank : block), call.in + block * call.bytes + first * 16,
                      bytes);
      Call part = call;
      part.in = part.out = nullptr;
      part.begin = first;
      part.end = end;
      launch(rank, part);
      if (call.out != nullptr)
        for (int block = 0; block < (gathers ? ranks_ : 1); ++block)
          std::memcpy(call.out + block * call.bytes + first * 16, stage(scatters ? rank : block),
                      bytes);
    }
  }

  template <class Body>
  void run(const Body& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks_; ++rank) threads.emplace_back([&, rank] { body(rank); });
    for (std::thread& one : threads) one.join();
  }

  int all(const std::vector<size_t>& sizes, Data packed) {
    std::atomic<int> wrong{0};
    run([&](int rank) {
      const bool packs = packed == Data::kPacked && rank % 2 == 0;
      for (size_t n = 0; n < sizes.size(); ++n)
        for (const What what : {MulticastArguments::kAllreduce, MulticastArguments::kBcast,
                                MulticastArguments::kReduceScatter, MulticastArguments::kAllgather})
          wrong += one(rank, n, sizes[n], what, packs);
    });
    return wrong;
  }

 private:
  static int64_t room_of(int64_t bytes) {
    const int64_t vectors = (bytes + 15) / 16, passes = (vectors + kRoom - 1) / kRoom;
    return (vectors + passes - 1) / passes;
  }
  static uint32_t value(int rank, size_t call, size_t i) {
    return static_cast<uint32_t>(rank) * 1000003U + static_cast<uint32_t>(call * 7919 + i * 31);
  }
  [[nodiscard]] uint32_t wanted(int rank, size_t call, size_t i, size_t count, What what,
                                int root) const {
    if (what == MulticastArguments::kBcast) return value(root, call, i);
    if (what == MulticastArguments::kAllgather)
      return value(static_cast<int>(i / count), call, i % count);
    if (what == MulticastArguments::kReduceScatter) i += static_cast<size_t>(rank) * count;
    uint32_t sum = 0;
    for (int r = 0; r < ranks_; ++r) sum += value(r, call, i);
    return sum;
  }
  int one(int rank, size_t n, size_t count, What what, bool packs) {
    const bool scatters = what == MulticastArguments::kReduceScatter;
    const auto many = static_cast<size_t>(ranks_);
    const int root = static_cast<int>(n) % ranks_;
    std::vector<char> in(count * 4 * (scatters ? many : 1) + skew);
    std::vector<char> out(count * 4 * (what == MulticastArguments::kAllgather ? many : 1) + skew,
                          -1);
    for (size_t i = 0; i * 4 + skew < in.size(); ++i) {
      const uint32_t word = value(rank, n, i);
      std::memcpy(in.data() + skew + i * 4, &word, 4);
    }
    const bool in_place = what == MulticastArguments::kAllreduce && n % 2 == 0;
    Call call{.what = what,
              .in = in.data() + skew,
              .out = (in_place ? in : out).data() + skew,
              .bytes = static_cast<int64_t>(count * 4)};
    call.root = root;
    const bool is_bcast = what == MulticastArguments::kBcast;
    if (is_bcast && rank == root) call.out = nullptr;
    if (is_bcast && rank != root) call.in = nullptr;
    if (packs)
      launch_packed(rank, call);
    else
      launch(rank, call);
    if (call.out == nullptr) return 0;
    int wrong = 0;
    for (size_t i = 0; skew + i * 4 < out.size(); ++i) {
      uint32_t word = 0;
      std::memcpy(&word, call.out + i * 4, 4);
      wrong += word != wanted(rank, n, i, count, what, root) ? 1 : 0;
    }
    return wrong;
  }

  struct Scratch {
    alignas(16) char bytes[64] = {};
  };
  Memory memory_;
  const int ranks_;
  const char* const kernel_;
  std::vector<Scratch> scratch_;
};

const std::vector<size_t> kSizes = {1, 3, 40, 251, 97, 2, 1003, 5, 4, 333, 64, 148};

class MulticastKernel : public testing::TestWithParam<int> {};
class OneMulticastKernel : public test::ReduceCases {
 protected:
  static void whole_numbers(Number number, std::vector<char>* bytes) {
    const auto fill = [&](auto zero, auto make) {
      for (size_t at = 0; at + sizeof zero <= bytes->size(); at += sizeof zero) {
        const auto value = make(static_cast<float>(static_cast<int>(at * 7 % 9) - 4));
        std::memcpy(bytes->data() + at, &value, sizeof value);
      }
    };
    switch (test::look_of(number)) {
      case test::Look::kFloat16:
        return fill(uint16_t{0}, [](float value) { return HalfFormat::narrow(value); });
      case test::Look::kBfloat16:
        return fill(uint16_t{0}, [](float value) { return Bfloat16Format::narrow(value); });
      case test::Look::kDouble:
        return fill(0.0, [](float value) { return static_cast<double>(value); });
      default:
        return fill(0.0F, [](float value) { return value; });
    }
  }
};
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
INSTANTIATE_TEST_SUITE_P(Ranks, MulticastKernel, testing::Values(1, 2, 3));
#else
INSTANTIATE_TEST_SUITE_P(Ranks, MulticastKernel, testing::Values(1, 2, 3, 5, 8));
#endif

TEST_P(MulticastKernel, AllOfAllSizesWithWeakMemory) {
  const WeakMemory weak;
  Ranks ranks(GetParam());
  for (const size_t skew : {0, 4, 3}) {
    ranks.skew = skew;
    EXPECT_EQ(ranks.all(kSizes, Data::kPlain), 0);
  }
}

// Stores arrive in order, so that TSan sees each access.
TEST_P(MulticastKernel, AllOfAllSizesInOrder) {
  Ranks ranks(GetParam());
  EXPECT_EQ(ranks.all(kSizes, Data::kPlain), 0);
}

TEST_P(MulticastKernel, SomeRanksPackIntoTheStage) {
  const WeakMemory weak;
  Ranks ranks(GetParam());
  EXPECT_EQ(ranks.all(kSizes, Data::kPacked), 0);
}

// Barrier numbers wrap at 2^32.
TEST_F(OneMulticastKernel, NumbersWrap) {
  Ranks ranks(2);
  uint32_t words[2][4] = {{1, 2, 3, 4}, {10, 20, 30, 40}}, sums[2][4];
  for (int rank = 0; rank < 2; ++rank)
    for (int part = 0; part < kParts; ++part) {
      const uint32_t number = ~0U - 2;
      std::memcpy(ranks.own(rank) + kNumbers + part * 4, &number, 4);
      for (int from = 0; from < 2; ++from)
        std::memcpy(ranks.own(rank) + kWords + (part * kMostRanks + from) * 4, &number, 4);
    }
  for (int times = 0; times < 3; ++times) {
    ranks.run([&](int rank) {
      Ranks::Call one;
      one.in = reinterpret_cast<const char*>(words[rank]);
      one.out = reinterpret_cast<char*>(sums[rank]);
      one.bytes = 16;
      ranks.launch(rank, one);
    });
    EXPECT_EQ(sums[0][3], 44U);
    EXPECT_EQ(sums[1][0], 11U);
  }
}

#if !defined(__SANITIZE_THREAD__)  // TSan reports a race
TEST_F(OneMulticastKernel, MeetingsThatOrderNothingAreFound) {
  const WeakMemory weak;
  const std::vector<size_t> many(40, 333);
  EXPECT_EQ(Ranks(2).all(many, Data::kPlain), 0);
  EXPECT_GT(Ranks(2, "test_multicast_unordered").all(many, Data::kPlain), 0);
}
#endif

TEST_F(OneMulticastKernel, GivesUpAndTellsTheOther) {
  Ranks ranks(2);
  ranks.timeout = 50000000;
  std::vector<char> in(999, 1), out(999, -1);
  Ranks::Call call;
  call.in = in.data();
  call.out = out.data();
  call.bytes = 999;
  ranks.launch(0, call);
  EXPECT_EQ(ranks.reports[0].state, KernelReport::kLate);
  EXPECT_EQ(ranks.reports[0].peer, 1);
  EXPECT_EQ(out[0], -1);
  ranks.launch(1, call);
  EXPECT_EQ(ranks.reports[kParts].state, KernelReport::kTold);
  EXPECT_EQ(ranks.reports[kParts].peer, 0);
}

// The float operands do not round, so sums are exact.
TEST_F(OneMulticastKernel, EveryReduction) {
  constexpr int kRanks = 3;
  constexpr size_t kCount = 64;
  Ranks ranks(kRanks);
  int reductions = 0;
  for (const test::Case& c : test::cases()) {
    const auto reduction = plan_multimem(c.plan.kernel, c.operation);
    if (!reduction) continue;
    ++reductions;
    std::vector<std::vector<char>> sources;
    for (int rank = 0; rank < kRanks; ++rank) sources.push_back(random_bytes(c, kCount));
    if (!is_exact(*reduction))
      for (auto& source : sources) whole_numbers(c.number, &source);
    const std::vector<char> wanted = expected(c, sources, kCount);
    std::vector<std::vector<char>> made(kRanks, std::vector<char>(wanted.size()));
    ranks.run([&](int rank) {
      const auto mine = static_cast<size_t>(rank);
      Ranks::Call call;
      call.in = sources[mine].data();
      call.out = made[mine].data();
      call.bytes = static_cast<int64_t>(wanted.size());
      call.reduction = *reduction;
      ranks.launch(rank, call);
    });
    for (const auto& one : made) compare(c, one.data(), wanted, kCount, "");
  }
  EXPECT_GT(reductions, 30);
}

}  // namespace
}  // namespace tern::cuda
