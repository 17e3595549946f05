// SPDX-License-Identifier: Apache-2.0
// ChannelMutex: waiting and yielding.
#include "core/channel_mutex.hpp"

#include <sched.h>

namespace tern::core {
namespace {
constexpr int kTries = 400, kTriesOnCore = 300;  // later tries leave the core
}

// Waiters spin first, because holders release quickly.
void ChannelMutex::lock_among_threads() noexcept {
  if (mutex_.try_lock()) return;
  wanted_.fetch_add(1, std::memory_order_relaxed);
  bool mine = false;
  for (int i = 0; i < kTries && !mine; ++i) {
    mine = mutex_.try_lock();
    if (!mine && i >= kTriesOnCore) ::sched_yield();
  }
  if (!mine) mutex_.lock();
  wanted_.fetch_sub(1, std::memory_order_relaxed);
}

// A plain unlock and lock would win against the sleeper.
void ChannelMutex::give_way() noexcept {
  const int before = wanted_.load(std::memory_order_relaxed);
  unlock();
  for (int i = 0; i < kTries && wanted_.load(std::memory_order_relaxed) >= before; ++i)
    if (i >= kTriesOnCore) ::sched_yield();
  lock();
}

}  // namespace tern::core
