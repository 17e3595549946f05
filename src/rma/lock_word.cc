// SPDX-License-Identifier: Apache-2.0
// The word of a part's lock, and the bits of waiting ranks.
#include "rma/lock_word.hpp"

namespace tern::rma {

void want(Control control) noexcept {
  std::atomic<uint64_t>& word = control.head().lock;
  if ((word.load() & Control::kWanted) == 0) word.fetch_or(Control::kWanted);
}

void enlist(Targets& targets, int target) noexcept {
  const auto mine = static_cast<size_t>(targets.rank());
  std::atomic<uint64_t>& word = targets[target].control.waiters(mine / 64);
  const uint64_t bit = uint64_t{1} << mine % 64;
  if ((word.load() & bit) == 0) word.fetch_or(bit);
}

/// The search begins after this rank, so waiters take turns.
bool wake_next(Targets& targets, int target) noexcept {
  const Control control = targets[target].control;
  const size_t words = control.waiter_words();
  const auto next = static_cast<size_t>(targets.rank() + 1), first = next / 64;
  for (size_t i = 0; i <= words; ++i) {
    std::atomic<uint64_t>& word = control.waiters((first + i) % words);
    uint64_t waiting = word.load();
    if (i == 0) waiting &= ~uint64_t{0} << next % 64;
    while (waiting != 0) {
      const int place = __builtin_ctzll(waiting);
      const uint64_t bit = uint64_t{1} << place;
      if ((word.fetch_and(~bit) & bit) != 0) {
        targets.wake(static_cast<int>((first + i) % words * 64) + place);
        return true;
      }
      waiting &= ~bit;
    }
  }
  return false;
}

void wake_all(Targets& targets, int target) noexcept {
  for (int i = 0; i < targets.size() && wake_next(targets, target); ++i) continue;
}

}  // namespace tern::rma
