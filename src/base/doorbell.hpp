// SPDX-License-Identifier: Apache-2.0
// Doorbell: a word in shared memory on which a rank sleeps and by which its peers wake it.
// Protocol: the sleeper arms the bell, polls everything once more, then sleeps; a sender publishes
// its data and then rings. The missed-wake race (store then load on both sides) is closed by the
// sleeper's fence together with the sender's fence where `fenced`; unfenced senders rely on the
// sleeper's time-out. Threads: any number may ring, several of the owner's may sleep; each pairs
// arm() with disarm() or sleep().
#pragma once

#include <atomic>
#include <cstdint>

#include "base/futex.hpp"

namespace tern {

class Doorbell {
 public:
  /// Sender, after its data is published. No system call unless the owner sleeps.
  void ring(bool fenced) noexcept {
    if (fenced) std::atomic_thread_fence(std::memory_order_seq_cst);
    if (__builtin_expect(state_.load(std::memory_order_relaxed) != kAwake, 0)) wake();
  }

  /// Owner: says that it is about to sleep. Poll once more between arm() and sleep().
  void arm() noexcept {
    sleepers_.fetch_add(1, std::memory_order_relaxed);
    state_.store(kAsleep, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  /// Owner: does not sleep after all. The bell stays armed for those who still do.
  void disarm() noexcept {
    if (sleepers_.fetch_sub(1, std::memory_order_relaxed) == 1)
      state_.store(kAwake, std::memory_order_relaxed);
  }
  /// Owner: sleeps until rung, or `also` has changed, or `microseconds` have passed; disarmed
  /// afterwards.
  void sleep(int64_t microseconds, const FutexWord& also = {}) noexcept;

 private:
  enum State : uint32_t { kAwake = 0, kAsleep = 1 };
  void wake() noexcept;

  std::atomic<uint32_t> state_{kAwake};
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace tern
