// SPDX-License-Identifier: Apache-2.0
// A lock's word. A rank sets its bit and waits; a release wakes one waiting rank. A third rank may
// take the lock first, because a handover would cost a context switch. Threads: any, of any
// process.
#pragma once

#include "rma/targets.hpp"

namespace tern::rma {

/// A barging reader overtakes waiting writers.
[[nodiscard]] inline bool try_lock(Control control, int holder, bool exclusive,
                                   bool barges = false) noexcept {
  std::atomic<uint64_t>& word = control.head().lock;
  uint64_t now = word.load();
  if (exclusive)
    return (now & ~Control::kWanted) == 0 &&
           word.compare_exchange_strong(now, (static_cast<uint64_t>(holder) + 1)
                                                 << Control::kWriterShift);
  while (now < Control::kOneWriter && (barges || (now & Control::kWanted) == 0))
    if (word.compare_exchange_weak(now, now + 1)) return true;
  return false;
}
/// Blocks further readers until a writer's turn.
void want(Control control) noexcept;
void enlist(Targets& targets, int target) noexcept;
[[nodiscard]] inline bool is_awaited(Control control) noexcept {
  uint64_t waiting = 0;
  for (size_t word = 0; word < control.waiter_words(); ++word) waiting |= control.waiters(word);
  return waiting != 0;
}
bool wake_next(Targets& targets, int target) noexcept;
void wake_all(Targets& targets, int target) noexcept;
/// Releases this rank's or a local target's lock.
inline void release_lock(Targets& targets, int target, bool exclusive) noexcept {
  const Control control = targets[target].control;
  std::atomic<uint64_t>& word = control.head().lock;
  const uint64_t before = exclusive ? word.exchange(0) : word.fetch_sub(1);
  if (TERN_UNLIKELY((before & Control::kWanted) != 0)) return wake_all(targets, target);
  if ((exclusive || before == 1) && is_awaited(control)) (void)wake_next(targets, target);
}

}  // namespace tern::rma
