// SPDX-License-Identifier: Apache-2.0
// Control: what the ranks of a host share about one rank's part of a window: its lock, the stripes
// that keep accumulates apart, and who has posted, completed and waits.
// Why: who synchronises with a rank of its host needs no help of that rank, which may compute.
// Words: one writer each, or changed by atomic operations; counters are never set back.
// Lifetime: a view of shared memory that the window maps. Threads: any, of any process.
// See: rma/locks.cc, rma/posts.cc, rma/stripes.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rma/box.hpp"

namespace tern::rma {

class Control {
 public:
  static constexpr size_t kStripes = 8;
  /// Begins a rank's block; zeros are a lock that is free and nothing posted.
  struct alignas(64) Head {
    std::atomic<uint64_t> lock;  // readers below, the writer's rank + 1 above kWriterShift
    std::atomic<int32_t> pid;
    struct alignas(64) Stripe {
      std::atomic<int32_t> holder;  // its pid; 0: free
    } stripes[kStripes];
    /// Of a dynamic window: the regions that are attached, a table in the rank's own memory.
    struct alignas(64) Attached {
      std::atomic<uint32_t> version;  // odd while the rest changes
      std::atomic<uint64_t> count, regions;
    } attached;
    Box box;  // where the kernel copies
  };
  static constexpr int kWriterShift = 32;
  static constexpr uint64_t kOneWriter = uint64_t{1} << kWriterShift;
  static constexpr uint64_t kWanted = uint64_t{1} << 31;  // a writer waits: no more readers

  Control() = default;
  /// `ranks` of the window, of which each may be a peer of this one.
  Control(std::byte* block, int ranks) noexcept
      : block_(block), ranks_(static_cast<size_t>(ranks)) {}
  /// A multiple of 64.
  [[nodiscard]] static constexpr size_t bytes_for(size_t ranks) noexcept {
    const size_t all = sizeof(Head) + words(ranks) * 8 + ranks * (4 + 4 + 1);
    return (all + 63) & ~size_t{63};
  }
  /// What the window has there besides.
  [[nodiscard]] std::byte* behind() const noexcept { return block_ + bytes_for(ranks_); }
  [[nodiscard]] bool valid() const noexcept { return block_ != nullptr; }

  [[nodiscard]] Head& head() const noexcept { return *reinterpret_cast<Head*>(block_); }
  /// A bit for each rank of the host that waits for the lock, and asks to be woken.
  [[nodiscard]] std::atomic<uint64_t>& waiters(size_t word) const noexcept {
    return at<uint64_t>(sizeof(Head))[word];
  }
  [[nodiscard]] size_t waiter_words() const noexcept { return words(ranks_); }
  /// How often the rank has posted to this one; and has completed accesses to it.
  [[nodiscard]] std::atomic<uint32_t>& posted(int by) const noexcept {
    return at<uint32_t>(counters())[by];
  }
  [[nodiscard]] std::atomic<uint32_t>& completed(int by) const noexcept {
    return at<uint32_t>(counters() + ranks_ * 4)[by];
  }
  /// Whether this rank holds the lock of that one.
  [[nodiscard]] std::atomic<uint8_t>& holds(int target) const noexcept {
    return at<uint8_t>(counters() + ranks_ * 8)[target];
  }
  [[nodiscard]] Box& box() const noexcept { return head().box; }
  /// What keeps accumulates at this place of the rank's memory apart.
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
