// SPDX-License-Identifier: Apache-2.0
// Chunks, FrameMover, CopyMover: the data path of host memory protocols. Chunks yields the next
// bytes, in order or claimed from the front or the back. FrameMover puts bytes into frames,
// CopyMover copies between the processes. Threads: claims are shared with the peer.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstring>

#include "btl/btl.hpp"
#include "btl/claims.hpp"
#include "pml/protocol.hpp"

namespace tern::pml {

/// A range counts bytes of the packed form.
struct ByteRange {
  size_t offset = 0, length = 0;
  [[nodiscard]] size_t end() const noexcept { return offset + length; }
};

class Chunks {
 public:
  enum class From : uint8_t { kFront, kBack };

  Chunks(size_t bytes, size_t each) noexcept : bytes_(bytes), each_(each) {}
  Chunks(size_t bytes, size_t each, btl::SharedClaims& claims, From from) noexcept
      : bytes_(bytes), each_(each), claims_(&claims), from_(from) {}

  /// next() returns the same range until moved(), and false if no chunk is available now.
  [[nodiscard]] bool next(ByteRange* range) noexcept {
    if (next_.length == 0) next_ = claims_ == nullptr ? in_order() : claimed();
    *range = next_;
    return next_.length != 0;
  }
  /// Records that `length` bytes of the next chunk have moved, or failed with an errno. Claimed
  /// chunks move whole.
  void moved(size_t length, int error) noexcept {
    if (claims_ != nullptr) {
      if (error != 0)
        claims_->failed.store(static_cast<uint32_t>(error), std::memory_order_relaxed);
      claims_->finished.fetch_add(1, std::memory_order_acq_rel);
    } else if (error != 0) {
      error_ = error;
      return;
    }
    at_ = next_.offset + length;
    next_ = {};
  }
  /// Changes the size of the chunks still to move, in order.
  void resume(size_t each) noexcept {
    each_ = each;
    next_ = {};
  }
  [[nodiscard]] bool all_moved() const noexcept {
    if (claims_ == nullptr) return at_ == bytes_;
    return claims_->finished.load(std::memory_order_acquire) >= count();
  }
  /// error() is the errno of sender or receiver, or 0.
  [[nodiscard]] int error() const noexcept {
    return claims_ == nullptr ? error_
                              : static_cast<int>(claims_->failed.load(std::memory_order_relaxed));
  }
  [[nodiscard]] size_t at() const noexcept { return at_; }

 private:
  [[nodiscard]] uint64_t count() const noexcept { return (bytes_ + each_ - 1) / each_; }
  [[nodiscard]] ByteRange from_offset(size_t offset) const noexcept {
    return {offset, std::min(each_, bytes_ - offset)};
  }
  [[nodiscard]] ByteRange in_order() const noexcept { return from_offset(at_); }
  [[nodiscard]] ByteRange claimed() noexcept {
    const uint64_t chunk =
        from_ == From::kFront ? claims_->claim_front(count()) : claims_->claim_back(count());
    return chunk == btl::SharedClaims::kNone ? ByteRange{} : from_offset(chunk * each_);
  }

  size_t bytes_, each_;
  size_t at_ = 0;
  ByteRange next_;
  btl::SharedClaims* claims_ = nullptr;
  From from_ = From::kFront;
  int error_ = 0;
};

/// A mover has `size_t move(Range)`, which returns the moved bytes (0: none now), and `int
/// error()`.
template <class Mover>
[[nodiscard]] HalfStep move_next(Chunks& chunks, Mover& mover) noexcept {
  ByteRange range;
  if (!chunks.next(&range)) return HalfStep::kAgain;
  const size_t length = mover.move(range);
  if (length == 0 && mover.error() == 0) return HalfStep::kAgain;
  chunks.moved(length, mover.error());
  return HalfStep::kMoved;
}

template <class Mover>
[[nodiscard]] HalfStep move_all(Chunks& chunks, Mover& mover) noexcept {
  HalfStep step = HalfStep::kAgain;
  while (move_next(chunks, mover) == HalfStep::kMoved) step = HalfStep::kMoved;
  return step;
}

/// A source has `size_t ready(Range)`, the bytes ready at the start of the range, `void
/// fill(std::byte*, Range)` and `void sent(size_t)`.
template <class Source>
class FrameMover {
 public:
  FrameMover(btl::Endpoint& endpoint, uint64_t receiver, Source& source) noexcept
      : endpoint_(endpoint), receiver_(receiver), source_(source) {}
  [[nodiscard]] static size_t most(const btl::Endpoint& endpoint) noexcept {
    return endpoint.fragment_bytes() - sizeof(wire::DataPrefix);
  }
  [[nodiscard]] size_t move(const ByteRange& range) noexcept {
    const wire::DataPrefix prefix{receiver_, range.offset};
    const size_t length = source_.ready(range);
    std::byte* const room =
        length == 0 ? nullptr : endpoint_.begin_fragment(sizeof prefix + length);
    if (room == nullptr) return 0;
    std::memcpy(room, &prefix, sizeof prefix);
    source_.fill(room + sizeof prefix, {range.offset, length});
    endpoint_.commit({0, wire::kData, static_cast<uint16_t>(sizeof prefix + length), 0, 0, 0});
    source_.sent(length);
    return length;
  }
  [[nodiscard]] int error() const noexcept { return 0; }

 private:
  btl::Endpoint& endpoint_;
  uint64_t receiver_;
  Source& source_;
};

class CopyMover {
 public:
  enum class Direction : uint8_t { kGet, kPut };
  CopyMover(btl::PeerCopy& copy, std::byte* here, uint64_t there, Direction direction) noexcept
      : copy_(copy), here_(here), there_(there), direction_(direction) {}
  [[nodiscard]] size_t move(const ByteRange& range) noexcept {
    const iovec local{here_ + range.offset, range.length};
    const iovec remote{reinterpret_cast<void*>(there_ + range.offset), range.length};
    error_ = direction_ == Direction::kGet ? copy_.get(&local, 1, &remote, 1)
                                           : copy_.put(&local, 1, &remote, 1);
    return range.length;
  }
  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  btl::PeerCopy& copy_;
  std::byte* here_;
  uint64_t there_;
  Direction direction_;
  int error_ = 0;
};

}  // namespace tern::pml
