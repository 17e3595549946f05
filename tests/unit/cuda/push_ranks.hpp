// SPDX-License-Identifier: Apache-2.0
// Ranks as threads that run tern_push or a similar kernel on the host shim.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

// device_host.hpp must precede the kernel's source.
#include "tests/softcuda/shim/device_host.hpp"
//
#include "cuda/kernels/bulk.cuh"
#include "cuda/kernels/push.cuh"
#include "tests/softcuda/shim/launch.h"

namespace tern::cuda {
namespace {

constexpr int kParts = 2;
constexpr int64_t kAbort = 4, kCounters = 64, kWords = 256;

struct Wire {
  const char* kernel;
  int64_t room;
  int64_t slot;
  unsigned threads = 32;
};

struct Scratch {
  struct alignas(128) Line {
    char bytes[128] = {};
  };
  std::vector<Line> lines;
  [[nodiscard]] char* at() { return lines.front().bytes; }
};

class Ints {
 public:
  Ints(size_t count, size_t skew) : skew_(skew), count_(count), pieces_(count / 4 + 3) {}
  Ints(const std::vector<int>& values, size_t skew) : Ints(values.size(), skew) {
    if (count_ > 0) std::memcpy(at(), values.data(), count_ * sizeof(int));
  }
  [[nodiscard]] char* at() { return pieces_.front().bytes + skew_; }
  [[nodiscard]] std::vector<int> values() {
    std::vector<int> all(count_);
    if (count_ > 0) std::memcpy(all.data(), at(), count_ * sizeof(int));
    return all;
  }

 private:
  struct alignas(16) Piece {
    char bytes[16] = {};
  };
  size_t skew_, count_;
  std::vector<Piece> pieces_;
};

class Ranks {
 public:
  Ranks(int ranks, const Wire& wire)
      : reports(static_cast<size_t>(ranks * kParts)),
        ranks_(ranks),
        wire_(wire),
        scratch_(static_cast<size_t>(ranks)) {
    const int64_t bytes = flags() + 2 * ranks * kParts * int64_t{sizeof(uint64_t)};
    for (Scratch& one : scratch_) one.lines.resize(static_cast<size_t>(bytes / 128 + 1));
  }

  size_t skew = 0;
  int64_t chunk = 0;  // 0: all
  uint64_t refresh = (uint64_t{1} << 24) - 1;
  uint64_t timeout = uint64_t{20} * 1000000000;
  std::vector<KernelReport> reports;

  struct Call {
    PushArguments::What what = PushArguments::kCopy;
    const char* in = nullptr;
    char* out = nullptr;
    size_t ints = 0;
    bool in_blocks = false, out_blocks = false;
    int32_t to = PushArguments::kAllRanks, from = PushArguments::kAllRanks;
    bool spreads = false;
    int32_t last = -2;  // last of the reduced ranks; -2: all
    int blocks = 1;
    ReduceNumber number = ReduceNumber::u32;
    Reduction operation = Reduction::kSum;
    PushArguments::Tabled tabled = PushArguments::kNone;
    std::vector<size_t> lengths = {};
  };

  void launch(int rank, const Call& call) {
    PushArguments a{};
    for (int r = 0; r < ranks_; ++r) a.bases[r] = scratch_[static_cast<size_t>(r)].at();
    a.reports = &reports[static_cast<size_t>(rank * kParts)];
    a.input = call.in;
    a.output = call.out;
    a.bytes = static_cast<int64_t>(call.ints * sizeof(int));
    if (call.in_blocks) a.input_stride = a.bytes;
    if (call.out_blocks) a.output_stride = a.bytes;
    a.chunk = chunk > 0 ? chunk : std::max<int64_t>(a.bytes, 1);
    a.chunks = std::max<int64_t>((a.bytes + a.chunk - 1) / a.chunk, 1);
    a.tabled = call.tabled;
    int64_t offset = 0;
    for (size_t i = 0; i < call.lengths.size(); ++i) {
      a.table[i] = {offset, static_cast<int64_t>(call.lengths[i] * sizeof(int))};
      offset += a.table[i].length;
    }
    a.words = kWords;
    a.flags = flags();
    a.counters = kCounters;
    a.abort_word = kAbort;
    a.room = wire_.room;
    a.timeout = timeout;
    a.refresh = refresh;
    a.ranks = ranks_;
    a.rank = rank;
    a.parts = kParts;
    a.what = call.what;
    a.to = call.to;
    a.from = call.from;
    a.last = call.last == -2 ? ranks_ - 1 : call.last;
    a.spread = call.spreads ? 1 : 0;
    a.kernel = static_cast<int32_t>(call.number);
    a.operation = static_cast<int32_t>(call.operation);
    const TernHostKernels& kernels = *tern_host_kernels();
    const TernHostKernel* const found = kernels.find(wire_.kernel);
    ASSERT_NE(found, nullptr);
    const TernLaunch shape{
        {static_cast<unsigned>(call.blocks), 1, 1}, {wire_.threads, 1, 1}, sizeof(PushShared), 0};
    char why[256] = "";
    EXPECT_EQ(kernels.launch(found, &shape, &a, why, sizeof why), 0) << why;
  }

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

  int all(const std::vector<size_t>& sizes) {
    std::atomic<int> wrong{0};
    run([&](int rank) {
      for (size_t n = 0; n < sizes.size(); ++n) {
        const int root = static_cast<int>(n * 7) % ranks_;
        wrong += bcast(rank, n, sizes[n], root);
        if (n % 3 == 0) wrong += bcast(rank, n + 100, 3 * sizes[n], root);
        if (n % 3 != 1) wrong += bcast(rank, n + 200, 2 * sizes[n], root, true);
        wrong += sum(rank, n, sizes[n], n % 2 == 0);
        wrong += scatter(rank, n, sizes[n], root);
        wrong += alltoall(rank, n, sizes[n]);
        wrong += scan(rank, n, sizes[n], n % 2 == 0 ? rank : rank - 1);
        if (n % 3 == 1) wrong += scan(rank, n + 100, 2 * sizes[n], rank - 1);
        wrong += gather(rank, n, sizes[n], root);
        if (n % 4 == 1) wrong += gather(rank, n, sizes[n], (root + 1) % ranks_);
        wrong += reduce_scatter(rank, n, sizes[n]);
        wrong += reduce(rank, n, sizes[n], root);
        wrong += of_many_lengths(rank, n, sizes[n], n % 2 == 0);
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
  [[nodiscard]] int64_t flags() const { return kWords + 2 * ranks_ * kParts * wire_.slot; }
  static int value(int rank, size_t call, size_t i) {
    return rank * 1000003 + static_cast<int>(call * 7919 + i * 31);
  }
  static int blocks_of(size_t ints) { return ints > 40 ? kParts : 1; }
  [[nodiscard]] int sum_of(size_t call, size_t i) const {
    int sum = 0;
    for (int r = 0; r < ranks_; ++r) sum += value(r, call, i);
    return sum;
  }
  static std::vector<int> values(int rank, size_t call, size_t ints) {
    std::vector<int> data(ints);
    for (size_t i = 0; i < ints; ++i) data[i] = value(rank, call, i);
    return data;
  }
  [[nodiscard]] size_t many(size_t ints) const { return ints * static_cast<size_t>(ranks_); }
  template <class Wanted>
  static int differing(Ints& made, size_t ints, const Wanted& wanted) {
    const std::vector<int> data = made.values();
    int wrong = 0;
    for (size_t i = 0; i < ints; ++i) wrong += data[i] != wanted(i) ? 1 : 0;
    return wrong;
  }

  int sum(int rank, size_t n, size_t ints, bool spreads) {
    Ints data(values(rank, n, ints), skew);
    launch(rank, {.what = PushArguments::kReduce,
                  .in = data.at(),
                  .out = data.at(),
                  .ints = ints,
                  .spreads = spreads,
                  .blocks = blocks_of(ints)});
    return differing(data, ints, [&](size_t i) { return sum_of(n, i); });
  }
  int gather(int rank, size_t n, size_t ints, int root) {
    Ints mine(values(rank, n, ints), skew), data(std::vector<int>(many(ints), -1), skew);
    Call call{.in = mine.at(), .out = data.at(), .ints = ints, .out_blocks = true};
    call.blocks = blocks_of(ints);
    if (root >= 0) {
      call.to = rank == root ? PushArguments::kNoRank : root;
      call.from = rank == root ? PushArguments::kAllRanks : PushArguments::kNoRank;
      if (rank != root) call.out = nullptr;
    }
    launch(rank, call);
    return differing(data, many(ints), [&](size_t i) {
      return call.out == nullptr ? -1 : value(static_cast<int>(i / ints), n, i % ints);
    });
  }
  int bcast(int rank, size_t n, size_t ints, int root, bool spreads = false) {
    Ints data(rank == root ? values(rank, n, ints) : std::vector<int>(ints, -1), skew);
    Call call{.ints = ints, .spreads = spreads, .blocks = blocks_of(ints)};
    (rank == root ? call.to : call.from) = PushArguments::kAllRanks;
    (rank == root ? call.from : call.to) = PushArguments::kNoRank;
    if (rank == root)
      call.in = data.at();
    else
      call.out = data.at(), call.from = root;
    launch(rank, call);
    return differing(data, ints, [&](size_t i) { return value(root, n, i); });
  }
  int scatter(int rank, size_t n, size_t ints, int root) {
    const std::vector<int> all = values(root, n, many(ints));
    Ints given(all, skew), data(std::vector<int>(ints, -1), skew);
    Call call{.out = data.at(), .ints = ints, .in_blocks = true, .blocks = blocks_of(ints)};
    call.to = rank == root ? PushArguments::kAllRanks : PushArguments::kNoRank;
    call.from = rank == root ? PushArguments::kNoRank : root;
    if (rank == root) call.in = given.at();
    launch(rank, call);
    return differing(data, ints,
                     [&](size_t i) { return all[static_cast<size_t>(rank) * ints + i]; });
  }
  int alltoall(int rank, size_t n, size_t ints) {
    Ints data(values(rank, n, many(ints)), skew);
    launch(rank, {.in = data.at(),
                  .out = data.at(),
                  .ints = ints,
                  .in_blocks = true,
                  .out_blocks = true,
                  .blocks = blocks_of(ints)});
    return differing(data, many(ints), [&](size_t i) {
      return value(static_cast<int>(i / ints), n, static_cast<size_t>(rank) * ints + i % ints);
    });
  }
  int scan(int rank, size_t n, size_t ints, int last) {
    Ints data(values(rank, n, ints), skew);
    Call call{.what = PushArguments::kReduce, .in = data.at(), .out = data.at(), .ints = ints};
    call.blocks = blocks_of(ints);
    call.to = PushArguments::kAbove;
    call.from = last < 0 ? PushArguments::kNoRank : PushArguments::kBelow;
    call.last = last;
    launch(rank, call);
    return differing(data, ints, [&](size_t i) {
      int sum = 0;
      for (int r = 0; r <= last; ++r) sum += value(r, n, i);
      return last < 0 ? value(rank, n, i) : sum;
    });
  }
  int reduce_scatter(int rank, size_t n, size_t ints) {
    Ints data(values(rank, n, many(ints)), skew);
    launch(rank, {.what = PushArguments::kReduce,
                  .in = data.at(),
                  .out = data.at(),
                  .ints = ints,
                  .in_blocks = true,
                  .blocks = blocks_of(ints)});
    return differing(data, ints,
                     [&](size_t i) { return sum_of(n, static_cast<size_t>(rank) * ints + i); });
  }
  int of_many_lengths(int rank, size_t n, size_t most, bool gathers) {
    std::vector<size_t> lengths, starts;
    size_t all = 0, largest = 0;
    for (int r = 0; r < ranks_; ++r) {
      starts.push_back(all);
      lengths.push_back((static_cast<size_t>(r) * 37 + n * 5) % (most + 1));
      all += lengths.back();
      largest = std::max(largest, lengths.back());
    }
    if (largest == 0) return 0;
    const auto mine = static_cast<size_t>(rank);
    Ints given(values(rank, n, gathers ? lengths[mine] : all), skew);
    Ints made(std::vector<int>((gathers ? all : lengths[mine]) + 1, -1), skew);
    Call call{.what = gathers ? PushArguments::kCopy : PushArguments::kReduce,
              .in = given.at(),
              .out = made.at(),
              .ints = largest};
    call.blocks = blocks_of(largest);
    call.tabled = gathers ? PushArguments::kOutput : PushArguments::kInput;
    call.lengths = lengths;
    launch(rank, call);
    return differing(made, (gathers ? all : lengths[mine]) + 1, [&](size_t i) {
      if (i == (gathers ? all : lengths[mine])) return -1;
      if (!gathers) return sum_of(n, starts[mine] + i);
      size_t of = 0;
      while (i >= starts[of] + lengths[of]) ++of;
      return value(static_cast<int>(of), n, i - starts[of]);
    });
  }
  int reduce(int rank, size_t n, size_t ints, int root) {
    Ints mine(values(rank, n, ints), skew), data(std::vector<int>(ints, -1), skew);
    Call call{.what = PushArguments::kReduce, .in = mine.at(), .ints = ints};
    call.blocks = blocks_of(ints);
    call.to = rank == root ? PushArguments::kNoRank : root;
    call.from = rank == root ? PushArguments::kAllRanks : PushArguments::kNoRank;
    if (rank == root) call.out = data.at();
    launch(rank, call);
    return differing(data, ints, [&](size_t i) { return rank == root ? sum_of(n, i) : -1; });
  }

  const int ranks_;
  const Wire wire_;
  std::vector<Scratch> scratch_;
};

/// WeakMemory takes softcuda::Arrival. kAny models PCIe, where each 8 bytes arrive alone.
struct WeakMemory {
  enum Arrival { kLines = 1, kAny = 2 };
  explicit WeakMemory(Arrival arrival = kAny) {
    tern_host_kernels()->set_arrival(arrival == kLines ? +[](const void*) { return int{kLines}; }
                                                       : +[](const void*) { return int{kAny}; });
  }
  ~WeakMemory() { tern_host_kernels()->set_arrival(nullptr); }
  WeakMemory(const WeakMemory&) = delete;
  WeakMemory& operator=(const WeakMemory&) = delete;
};

const std::vector<size_t> kSizes = {1, 3, 40, 1, 251, 97, 2, 1003, 5, 4, 333, 64};

}  // namespace
}  // namespace tern::cuda
