// SPDX-License-Identifier: Apache-2.0
// Fate: whether an object is dead, and the first reason.
// Why: other threads and later calls report errors. Threads: any. Cost: dead() is one load; end()
// allocates, and keeps at least the class.
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
  /// Requires the lock of end()'s callers.
  [[nodiscard]] bool dead_locked() const noexcept { return state_ != kAlive; }
  TERN_COLD bool end(const Failure& why) noexcept;
  /// Replaces an earlier reason, if any. One caller at a time.
  TERN_COLD void overrule(const Failure& why) noexcept;

  [[nodiscard]] TERN_COLD int code() const noexcept;
  /// The text is valid while the object exists.
  [[nodiscard]] TERN_COLD const char* why() const noexcept;
  TERN_COLD Failure reason() const noexcept;
  [[nodiscard]] TERN_COLD int fail() const noexcept;

  /// Returns the reason and revives the object. No other thread may read the reason.
  TERN_COLD Failure take() noexcept;

 private:
  // The state is the address of a reason, or 2 * class + 1 (class 0: alive).
  static constexpr uintptr_t kAlive = 1;
  static void forget(uintptr_t state) noexcept;

  [[nodiscard]] uintptr_t load() const noexcept {
    return std::atomic_ref<uintptr_t>(state_).load(std::memory_order_acquire);
  }

  mutable uintptr_t state_ = kAlive;
};

}  // namespace tern
