// SPDX-License-Identifier: Apache-2.0
// Control: the shared words of one rank's part of a window: lock, stripes, counters of posts and
// completes.
// Why: ranks of a host synchronise without help from the target. Each word has one writer or
// changes atomically; counters never go back. Threads: any, of any process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rma/box.hpp"

namespace tern::rma {

class Control {
 public:
  static constexpr size_t kStripes = 8;
  /// A block of zeros is unlocked, with no posts.
  struct alignas(64) Head {
    std::atomic<uint64_t> lock;  // readers; above kWriterShift: the writer's rank + 1
    std::atomic<int32_t> pid;
    struct alignas(64) Stripe {
      std::atomic<int32_t> holder;
    } stripes[kStripes];
    /// A dynamic window's regions: a table in private memory.
    struct alignas(64) Attached {
      std::atomic<uint32_t> version;  // odd during changes
      std::atomic<uint64_t> count, regions;
    } attached;
    Box box;
  };
  static constexpr int kWriterShift = 32;
  static constexpr uint64_t kOneWriter = uint64_t{1} << kWriterShift;
  static constexpr uint64_t kWanted = uint64_t{1} << 31;

  /// -1: no writer. `word`: of a lock.
  [[nodiscard]] static constexpr int writer_of(uint64_t word) noexcept {
    return static_cast<int>(word >> kWriterShift) - 1;
  }

  Control() = default;
  Control(std::byte* block, int ranks) noexcept
      : block_(block), ranks_(static_cast<size_t>(ranks)) {}
  [[nodiscard]] static constexpr size_t bytes_for(size_t ranks) noexcept {
    const size_t all = sizeof(Head) + words(ranks) * 8 + ranks * (4 + 4 + 1);
    return (all + 63) & ~size_t{63};
  }
  [[nodiscard]] std::byte* behind() const noexcept { return block_ + bytes_for(ranks_); }
  [[nodiscard]] bool valid() const noexcept { return block_ != nullptr; }

  [[nodiscard]] Head& head() const noexcept { return *reinterpret_cast<Head*>(block_); }
  /// Each waiting rank sets a bit.
  [[nodiscard]] std::atomic<uint64_t>& waiters(size_t word) const noexcept {
    return at<uint64_t>(sizeof(Head))[word];
  }
  [[nodiscard]] size_t waiter_words() const noexcept { return words(ranks_); }
  [[nodiscard]] std::atomic<uint32_t>& posted(int by) const noexcept {
    return at<uint32_t>(counters())[by];
  }
  [[nodiscard]] std::atomic<uint32_t>& completed(int by) const noexcept {
    return at<uint32_t>(counters() + ranks_ * 4)[by];
  }
  [[nodiscard]] std::atomic<uint8_t>& holds(int target) const noexcept {
    return at<uint8_t>(counters() + ranks_ * 8)[target];
  }
  [[nodiscard]] Box& box() const noexcept { return head().box; }
  [[nodiscard]] Head::Stripe& stripe(uint64_t place) const noexcept {
    return head().stripes[(place >> kStripeShift) % kStripes];
  }
  static constexpr int kStripeShift = 16;

 private:
  template <class T>
  [[nodiscard]] std::atomic<T>* at(size_t offset) const noexcept {
    return reinterpret_cast<std::atomic<T>*>(block_ + offset);
  }
  [[nodiscard]] size_t counters() const noexcept { return sizeof(Head) + words(ranks_) * 8; }
  static constexpr size_t words(size_t ranks) noexcept { return (ranks + 63) / 64; }

  std::byte* block_ = nullptr;
  size_t ranks_ = 0;
};

}  // namespace tern::rma
