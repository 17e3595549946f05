// SPDX-License-Identifier: Apache-2.0
// Pool: blocks of the own segment that carry payload too large for a ring's lines.
// Why: one pool per sender (and channel), not per pair; blocks are reused last-in first-out, so few
// of them stay in cache. Protocol: the sender marks a block busy and names it in a frame; the
// reader clears the mark when it has copied. Threads: the owner under the channel's lock; readers
// (other processes) only clear marks.
#pragma once

#include <vector>

#include "btl/sm/segment.hpp"

namespace tern::btl::sm {

class Pool {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  Pool(const Segment& segment, uint32_t channel) : segment_(segment) {
    const uint32_t blocks = segment.shape().blocks, first = channel * blocks;
    free_.reserve(blocks);
    busy_.reserve(blocks);
    for (uint32_t block = blocks; block > 0; --block) free_.push_back(first + block - 1);
  }

  /// A block to fill; kNone when all wait for their readers.
  [[nodiscard]] uint32_t take() noexcept {
    if (!busy_.empty()) reclaim();
    if (free_.empty()) return kNone;
    const uint32_t block = free_.back();
    free_.pop_back();
    return block;
  }
  /// Blocks that still wait for their readers.
  [[nodiscard]] size_t in_flight() noexcept {
    reclaim();
    return busy_.size();
  }
  /// `block` goes out in the next frame.
  void sent(uint32_t block) noexcept {
    segment_.flag(block).busy.store(1, std::memory_order_relaxed);
    busy_.push_back(block);
  }

 private:
  // Looks at a few of the oldest, at all only when there is no other: a reader that stalls must not
  // make every send scan the pool.
  void reclaim() noexcept {
    const size_t limit = free_.empty() ? busy_.size() : kLook;
    for (size_t i = 0, looked = 0; i < busy_.size() && looked < limit; ++looked) {
      if (segment_.flag(busy_[i]).busy.load(std::memory_order_acquire) != 0) {
        ++i;
        continue;
      }
      free_.push_back(busy_[i]);
      busy_[i] = busy_.back();
      busy_.pop_back();
    }
  }

  static constexpr size_t kLook = 4;
  const Segment& segment_;
  std::vector<uint32_t> free_, busy_;
};

}  // namespace tern::btl::sm
