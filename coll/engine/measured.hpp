// SPDX-License-Identifier: Apache-2.0
// Measured: predicted and measured times, for TERN_EXPLAIN.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "base/compiler.hpp"

namespace tern::coll {

struct Measured {
  int64_t count = 0, nanoseconds = 0;
  double predicted = 0;  // microseconds
};

/// A stopwatch without a sum reads no clock.
class Stopwatch {
 public:
  explicit Stopwatch(Measured* sum = nullptr) noexcept : sum_(sum) {}
  void measure(Measured* sum) noexcept { sum_ = sum; }
  void begin() noexcept {
    if (TERN_UNLIKELY(sum_ != nullptr)) began_ = now_ns();
  }
  void end() noexcept {
    if (TERN_UNLIKELY(sum_ != nullptr)) sum_->nanoseconds += now_ns() - began_;
  }

 private:
  Measured* sum_;
  int64_t began_ = 0;
};

}  // namespace tern::coll
