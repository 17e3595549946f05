// SPDX-License-Identifier: Apache-2.0
// Doorbell: a word in shared memory on which a rank sleeps and by which its peers wake it.
// Protocol: the sleeper arms the bell, polls everything once more, then sleeps; a sender publishes
// its data and then rings. The missed-wake race (store then load on both sides) is closed by the
// sleeper's fence together with the sender's fence where `fenced`; unfenced senders rely on the
// sleeper's time-out. The word changes with each arm() and each ring that found it armed: a thread
// that was rung before it sleeps does not sleep, whatever other threads have done meanwhile.
// Threads: any number may ring, several of the owner's may sleep; each pairs arm() with disarm() or
// sleep(). See: tests/unit/base/doorbell_test.cc.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/futex.hpp"

namespace tern {

class Doorbell {
 public:
  /// Until rung, however long it takes.
  static constexpr int64_t kUntilRung = kNoLimit;

  /// Sender, after its data is published. No system call unless the owner sleeps.
  void ring(bool fenced) noexcept {
    if (fenced) std::atomic_thread_fence(std::memory_order_seq_cst);
    if (__builtin_expect((state_.load(std::memory_order_relaxed) & kArmed) != 0, 0)) wake();
  }

  /// Owner: says that it is about to sleep. Poll once more between arm() and sleep(), which takes
  /// what this returns.
  [[nodiscard]] uint32_t arm() noexcept;
  /// Owner: does not sleep after all. The bell stays armed for those who still do.
  void disarm() noexcept;
  /// Owner: sleeps until rung, or `also` has changed, or `microseconds` have passed; disarmed
  /// afterwards.
  void sleep(uint32_t armed, int64_t microseconds, const FutexWord& also = {}) noexcept;

 private:
  static constexpr uint32_t kArmed = 1;  // the other bits count: kStep
  static constexpr uint32_t kStep = 2;
  void wake() noexcept;

  std::atomic<uint32_t> state_{0};
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace tern
