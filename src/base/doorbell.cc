// SPDX-License-Identifier: Apache-2.0
// Doorbell: arming, and the two futex calls.
#include "base/doorbell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace tern {

uint32_t Doorbell::arm() noexcept {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  uint32_t before = state_.load(std::memory_order_relaxed);
  while (
      !state_.compare_exchange_weak(before, (before + kStep) | kArmed, std::memory_order_seq_cst)) {
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return (before + kStep) | kArmed;
}

// A thread that arms meanwhile is counted, or has changed the word: the bell stays armed for it.
void Doorbell::disarm() noexcept {
  uint32_t before = state_.load(std::memory_order_seq_cst);
  if (sleepers_.fetch_sub(1, std::memory_order_seq_cst) == 1)
    state_.compare_exchange_strong(before, before & ~kArmed, std::memory_order_seq_cst);
}

void Doorbell::sleep(uint32_t armed, int64_t microseconds) noexcept {
  timespec limit{};
  limit.tv_sec = microseconds / 1000000;
  limit.tv_nsec = (microseconds % 1000000) * 1000;
  ::syscall(SYS_futex, &state_, FUTEX_WAIT, armed, microseconds == kUntilRung ? nullptr : &limit,
            nullptr, 0);
  disarm();
}

// One ring wakes all: the next sees an unarmed bell.
void Doorbell::wake() noexcept {
  uint32_t before = state_.load(std::memory_order_relaxed);
  while ((before & kArmed) != 0)
    if (state_.compare_exchange_weak(before, (before + kStep) & ~kArmed,
                                     std::memory_order_acq_rel)) {
      ::syscall(SYS_futex, &state_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
      return;
    }
}

}  // namespace tern
