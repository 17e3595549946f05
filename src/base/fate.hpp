// SPDX-License-Identifier: Apache-2.0
// Fate: whether an object is dead, and the first reason.
// Why: communicators, teams, streams and peers die of errors reported by other threads or later
// calls. Lifetime: the object. Threads: any.
// Cost: dead() is one load. end() allocates; without memory it keeps the class with a fixed
// sentence. See: ARCHITECTURE.md "Errors", tests/unit/base/fate_test.cc.
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
  /// Requires the lock of the end() callers; saves an instruction.
  [[nodiscard]] bool dead_locked() const noexcept { return state_ != kAlive; }
  /// Kills the object. Returns false if it was already dead.
  TERN_COLD bool end(const Failure& why) noexcept;

  [[nodiscard]] TERN_COLD int code() const noexcept;
  /// The reason, valid while the object exists; empty while alive.
  [[nodiscard]] TERN_COLD const char* why() const noexcept;
  TERN_COLD Failure reason() const noexcept;
  [[nodiscard]] TERN_COLD int fail() const noexcept;

  /// Returns class and reason, and revives the object. No other thread may read the reason.
  TERN_COLD Failure take() noexcept;

 private:
  // The address of a Failure, or an odd number without a reason: 2 * class + 1; class 0 means
  // alive.
  static constexpr uintptr_t kAlive = 1;
  static void forget(uintptr_t state) noexcept;

  [[nodiscard]] uintptr_t load() const noexcept {
    return std::atomic_ref<uintptr_t>(state_).load(std::memory_order_acquire);
  }

  mutable uintptr_t state_ = kAlive;
};

}  // namespace tern
