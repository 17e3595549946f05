// SPDX-License-Identifier: Apache-2.0
// RingWriter and RingReader: frames in lines of 64 bytes, with a single writer and a single reader.
// Why: a small message is one cache line: header and up to 48 bytes of payload. A frame takes 1 to
// kMostLines consecutive lines. The first line's mark is the lap (1..255), stored last. The reader
// clears the first word of the further lines, because stale payload must never look like a mark. A
// skip frame precedes a frame too long for the end of the ring. The reader publishes its credit,
// the consumed lines, every quarter of the ring; the writer caches the credit.
// Cost: two cache-line transfers per small frame.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/error.hpp"
#include "btl/sm/segment.hpp"

namespace tern::btl::sm {

/// Readies a ring for another writer, after the last writer's farewell or end.
inline void clear(Line* lines, uint64_t count, RingControl* control) noexcept {
  for (uint64_t i = 0; i < count; ++i) std::memset(lines + i, 0, sizeof(uint64_t));
  control->consumed.store(0, std::memory_order_relaxed);
  control->farewell.store(0, std::memory_order_relaxed);
  control->owner.store(0, std::memory_order_release);
}

inline constexpr size_t kInline = kLine - sizeof(Header);
inline constexpr uint8_t kPooled = 0x80;  // bit of Header::kind: payload in the writer's pool
inline constexpr uint8_t kSkip = 0x7f;    // Header::kind: continue at the start of the ring

inline uint64_t lines_for(size_t payload) noexcept {
  return (payload + sizeof(Header) + kLine - 1) / kLine;
}

inline uint8_t next_lap(uint8_t lap) noexcept {
  return lap == 255 ? uint8_t{1} : static_cast<uint8_t>(lap + 1);
}

struct HeaderWords {
  uint64_t first, second;
};

inline void store_header(Line* line, const Header& header) noexcept {
  HeaderWords words;
  std::memcpy(&words, &header, sizeof words);
  auto* target = reinterpret_cast<uint64_t*>(line);
  std::atomic_ref<uint64_t>(target[1]).store(words.second, std::memory_order_relaxed);
  std::atomic_ref<uint64_t>(target[0]).store(words.first, std::memory_order_release);
}

inline void prefetch_to_write(const Line* line) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*line));
#else
  __builtin_prefetch(line, 1);
#endif
}

class RingWriter {
 public:
  RingWriter() = default;
  RingWriter(Line* lines, uint32_t count, RingControl* control) noexcept
      : lines_(lines), count_(count), control_(control) {}

  [[nodiscard]] Line* reserve(uint64_t needed) noexcept {
    const uint64_t place = head_ & (count_ - 1);
    if (TERN_UNLIKELY(place + needed > count_)) {
      if (!has_room(count_ - place + needed)) return nullptr;
      skip(place);
      return lines_;
    }
    return has_room(needed) ? lines_ + place : nullptr;
  }
  /// publish() prefetches a line ahead for writing, against stalls in bursts of small frames. The
  /// next line is left to the polling reader.
  void publish(Line* line, Header header, uint64_t used) noexcept {
    header.mark = lap_;
    store_header(line, header);
    head_ += used;
    if ((head_ & (count_ - 1)) == 0) lap_ = next_lap(lap_);
    prefetch_to_write(lines_ + ((head_ + kAhead) & (count_ - 1)));
  }

 private:
  static constexpr uint64_t kAhead = 3;
  [[nodiscard]] bool has_room(uint64_t needed) noexcept {
    if (TERN_LIKELY(head_ + needed <= consumed_ + count_)) return true;
    consumed_ = control_->consumed.load(std::memory_order_acquire);
    return head_ + needed <= consumed_ + count_;
  }
  void skip(uint64_t place) noexcept {
    publish(lines_ + place, Header{0, kSkip, 0, 0, 0, 0}, count_ - place);
  }

  Line* lines_ = nullptr;
  uint64_t count_ = 1;
  uint64_t head_ = 0, consumed_ = 0;
  uint8_t lap_ = 1;
  RingControl* control_ = nullptr;
};

class RingReader {
 public:
  RingReader() = default;
  RingReader(Line* lines, uint32_t count, RingControl* control) noexcept
      : lines_(lines), count_(count), control_(control) {}

  [[nodiscard]] const Line* front(Header* header) noexcept {
    for (;;) {
      Line* line = lines_ + (tail_ & (count_ - 1));
      auto* words = reinterpret_cast<uint64_t*>(line);
      const uint64_t first = std::atomic_ref<uint64_t>(words[0]).load(std::memory_order_acquire);
      if (static_cast<uint8_t>(first) != lap_) return nullptr;
      __builtin_prefetch(lines_ + ((tail_ + kAhead) & (count_ - 1)));
      const HeaderWords both{first,
                             std::atomic_ref<uint64_t>(words[1]).load(std::memory_order_relaxed)};
      std::memcpy(header, &both, sizeof *header);
      if (TERN_LIKELY(header->kind != kSkip)) return line;
      advance(lines_to_end());  // consume() publishes the credit
    }
  }
  [[nodiscard]] uint64_t lines_to_end() const noexcept { return count_ - (tail_ & (count_ - 1)); }
  [[nodiscard]] uint32_t farewell() const noexcept {
    return control_->farewell.load(std::memory_order_acquire);
  }
  /// `all`: the writer has ended, perhaps with frames on the way.
  void clear_all(bool all) noexcept {
    clear(lines_, all ? count_ : std::min(tail_, count_), control_);
  }
  /// If consume() returns true, the caller must notify the writer of new credit.
  bool consume(uint64_t used) noexcept {
    advance(used);
    if (tail_ - published_ < count_ / 4) return false;
    published_ = tail_;
    control_->consumed.store(tail_, std::memory_order_release);
    return true;
  }

 private:
  static constexpr uint64_t kAhead = 2;

  void advance(uint64_t used) noexcept {
    Line* line = lines_ + (tail_ & (count_ - 1));
    for (uint64_t i = 1; i < used; ++i)
      std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(line + i))
          .store(0, std::memory_order_relaxed);
    tail_ += used;
    if ((tail_ & (count_ - 1)) == 0) lap_ = next_lap(lap_);
  }

  Line* lines_ = nullptr;
  uint64_t count_ = 1;
  uint64_t tail_ = 0, published_ = 0;
  uint8_t lap_ = 1;
  RingControl* control_ = nullptr;
};

}  // namespace tern::btl::sm
