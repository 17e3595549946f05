// SPDX-License-Identifier: Apache-2.0
// Fate: whether an object is dead, and the first reason.
// Why: communicators, teams, streams and peers die of errors reported by other threads, or by later
// calls.
// Lifetime: of the object. Threads: any. Cost: dead() is one load. end() allocates; without memory
// the class is kept, and the reason is a fixed sentence.
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
  ~Fate() { forget(state_); }

  [[nodiscard]] bool dead() const noexcept { return load() != kAlive; }
  /// The same under a lock that the callers of end() hold, too: one instruction less.
  [[nodiscard]] bool dead_locked() const noexcept { return state_ != kAlive; }
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
  // The address of a Failure, or odd: twice the class, and 1, without a reason; the class 0: alive.
  static constexpr uintptr_t kAlive = 1;
  static void forget(uintptr_t state) noexcept;

  [[nodiscard]] uintptr_t load() const noexcept {
    return std::atomic_ref<uintptr_t>(state_).load(std::memory_order_acquire);
  }

  mutable uintptr_t state_ = kAlive;
};

}  // namespace tern
