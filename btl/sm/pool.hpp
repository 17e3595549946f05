// SPDX-License-Identifier: Apache-2.0
// Pool: blocks of the own segment for payload too large for a ring's lines.
// Why: last-in first-out reuse keeps few blocks in cache. A peer that does not read must not block
// others: any peer may use half of the blocks, and each peer has an equal share of the other half.
// The sender marks a block busy and names the block in a frame; the reader copies, then clears the
// mark, in frame order.
// Threads: readers (other processes) only clear marks.
#pragma once

#include <algorithm>
#include <vector>

#include "btl/sm/segment.hpp"

namespace tern::btl::sm {

class Pool {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  class InFlight {
   public:
    [[nodiscard]] uint32_t count() const noexcept { return count_; }

   private:
    friend class Pool;
    uint32_t first_ = kNone, last_ = kNone, count_ = 0;
  };

  Pool(const Segment& segment, uint32_t channel)
      : segment_(segment),
        first_(channel * segment.shape().blocks),
        reserve_(segment.shape().blocks / 2) {
    const uint32_t blocks = segment.shape().blocks;
    free_.reserve(blocks);
    next_.resize(blocks, kNone);
    for (uint32_t block = blocks; block > 0; --block) free_.push_back(first_ + block - 1);
  }

  /// add() precedes the reader's first take().
  void add(InFlight& reader) {
    readers_.push_back(&reader);
    share_ = std::max<size_t>(reserve_ / readers_.size(), 1);
  }

  /// The reader has read all blocks, or has ended.
  void remove(InFlight& reader) noexcept {
    while (reader.count_ != 0) {
      segment_.flag(reader.first_).busy.store(0, std::memory_order_relaxed);
      reclaim(reader);
    }
    std::erase(readers_, &reader);
    share_ = std::max<size_t>(reserve_ / std::max<size_t>(readers_.size(), 1), 1);
  }

  /// take() returns kNone if the reader's allowance is used up.
  [[nodiscard]] uint32_t take(InFlight& reader) noexcept {
    reclaim(reader);
    if (TERN_UNLIKELY(!may_have_more(reader))) {
      for (InFlight* other : readers_) reclaim(*other);
      if (!may_have_more(reader)) return kNone;
    }
    const uint32_t block = free_.back();
    free_.pop_back();
    return block;
  }
  [[nodiscard]] size_t in_flight(InFlight& reader) noexcept {
    reclaim(reader);
    return reader.count_;
  }
  void sent(uint32_t block, InFlight& reader) noexcept {
    segment_.flag(block).busy.store(1, std::memory_order_relaxed);
    next(block) = kNone;
    (reader.count_++ == 0 ? reader.first_ : next(reader.last_)) = block;
    reader.last_ = block;
  }

 private:
  [[nodiscard]] bool may_have_more(const InFlight& reader) const noexcept {
    return free_.size() > reserve_ || (reader.count_ < share_ && !free_.empty());
  }
  [[nodiscard]] uint32_t& next(uint32_t block) noexcept { return next_[block - first_]; }
  void reclaim(InFlight& reader) noexcept {
    while (reader.count_ != 0 &&
           segment_.flag(reader.first_).busy.load(std::memory_order_acquire) == 0) {
      free_.push_back(reader.first_);
      reader.first_ = next(reader.first_);
      --reader.count_;
    }
  }

  const Segment& segment_;
  const uint32_t first_;
  const size_t reserve_;
  size_t share_ = 1;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> next_;  // by block: the next block sent to the same reader
  std::vector<InFlight*> readers_;
};

}  // namespace tern::btl::sm
