// SPDX-License-Identifier: Apache-2.0
// Ticks: CLOCK_MONOTONIC in a third of its time, by the processor's counter.
// Method: a line between two readings of both clocks. Each interval is twice as long as the
// interval before, and the error stays near the error of a reading (about 50 ns). If the kernel
// distrusts the counter, every reading is a call of clock_gettime().
// Lifetime: a thread. Threads: the owner.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "base/compiler.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tern::trace {

/// Whether the kernel uses the processor's counter as its clock.
[[nodiscard]] bool counter_is_clock() noexcept;

class Ticks {
 public:
  void start() noexcept;
  [[nodiscard]] int64_t now() noexcept {
#if defined(__x86_64__)
    const uint64_t ticks = __rdtsc();
    if (TERN_LIKELY(ticks < next_)) return at(ticks);
#endif
    return measure();
  }

 private:
  [[nodiscard]] int64_t at(uint64_t ticks) const noexcept {
    const auto passed = static_cast<unsigned __int128>(ticks - from_ticks_) * factor_;
    return from_ns_ + static_cast<int64_t>(passed >> 32);
  }
  TERN_COLD int64_t measure() noexcept;

  uint64_t next_ = 0;  // 0: always measure
  uint64_t from_ticks_ = 0, factor_ = 0;
  int64_t from_ns_ = 0;
  uint64_t interval_ = 0;
};

}  // namespace tern::trace
