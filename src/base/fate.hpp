// SPDX-License-Identifier: Apache-2.0
// Fate: whether an object is dead, and why. The first reason wins.
// Why: communicators, teams, streams and peers die of errors that another thread, or another call,
// has to report.
// Lifetime: of the object. Threads: any. Cost: dead() is one load. end() allocates; without memory
// it keeps the class, and the reason is a fixed sentence.
// See: ARCHITECTURE.md "Errors", tests/unit/base/fate_test.cc.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/compiler.hpp"
#include "base/error.hpp"

namespace tern {

class Fate {
 public:
  Fate() = default;
  Fate(const Fate&) = delete;
  Fate& operator=(const Fate&) = delete;
  ~Fate() { forget(state_.load(std::memory_order_relaxed)); }

  [[nodiscard]] bool dead() const noexcept {
    return state_.load(std::memory_order_acquire) != kAlive;
  }
  /// The object is dead for this reason. Returns false if it was dead before.
  TERN_COLD bool end(const Failure& why) noexcept;

  /// The error class; 0 while the object is alive.
  [[nodiscard]] TERN_COLD int code() const noexcept;
  /// The reason, for as long as the object exists; empty while it is alive.
  [[nodiscard]] TERN_COLD const char* why() const noexcept;
  /// Class and reason as a value; a success while the object is alive.
  TERN_COLD Failure reason() const noexcept;
  /// Class and reason as fail(); 0 while the object is alive.
  [[nodiscard]] TERN_COLD int fail() const noexcept;

  /// Class and reason, once: then the object is alive again. No other thread may read the reason.
  TERN_COLD Failure take() noexcept;

 private:
  // 0: alive. An odd number: the class, without a reason. Else the address of a Failure.
  static constexpr uintptr_t kAlive = 0;
  static void forget(uintptr_t state) noexcept;

  std::atomic<uintptr_t> state_{kAlive};
};

}  // namespace tern
