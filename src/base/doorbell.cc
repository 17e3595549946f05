// SPDX-License-Identifier: Apache-2.0
// Doorbell: arming, sleeping and waking.
#include "base/doorbell.hpp"

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

void Doorbell::sleep(uint32_t armed, int64_t microseconds, const FutexWord& also) noexcept {
  const FutexWord rung{&state_, armed};
  if (also.word == nullptr)
    futex_sleep(rung, microseconds);
  else
    futex_sleep(rung, also, microseconds);
  disarm();
}

// One ring wakes all: the next sees an unarmed bell.
void Doorbell::wake() noexcept {
  uint32_t before = state_.load(std::memory_order_relaxed);
  while ((before & kArmed) != 0)
    if (state_.compare_exchange_weak(before, (before + kStep) & ~kArmed,
                                     std::memory_order_acq_rel)) {
      futex_wake_all(state_);
      return;
    }
}

}  // namespace tern
