// SPDX-License-Identifier: Apache-2.0
// Progress: pollers, and leaving the core.
#include "core/progress.hpp"

#include <sched.h>
#include <time.h>

#include "base/error.hpp"

namespace tern::core {
namespace {
constexpr int64_t kFirstSleepUs = 1000;
constexpr int64_t kLongestSleepUs = 10000;
constexpr uint32_t kRoundsBeforeLongSleep = 16;

int64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}
}  // namespace

void Progress::add(Poll poller, void* self) noexcept {
  TERN_ASSERT(count_ < kMostPollers);
  entries_[count_++] = {poller, self};
}

void Progress::remove(void* self) noexcept {
  int kept = 0;
  for (int i = 0; i < count_; ++i)
    if (entries_[i].self != self) entries_[kept++] = entries_[i];
  count_ = kept;
}

void Progress::configure(Doorbell* doorbell, uint32_t spins, int64_t yield_us,
                         bool threaded) noexcept {
  doorbell_ = doorbell;
  spins_ = spins;
  yield_ns_ = yield_us * 1000;
  threaded_ = threaded;
}

// Tries for a while before it sleeps: the lock is held for a fraction of the time that waking
// takes.
void Progress::lock_among_threads() noexcept {
  if (mutex_.try_lock()) return;
  wanted_.fetch_add(1, std::memory_order_relaxed);
  constexpr int kTries = 400, kTriesOnCore = 300;
  bool mine = false;
  for (int i = 0; i < kTries && !mine; ++i) {
    mine = mutex_.try_lock();
    if (!mine && i >= kTriesOnCore) ::sched_yield();
  }
  if (!mine) mutex_.lock();
  wanted_.fetch_sub(1, std::memory_order_relaxed);
}

// A mutex alone would not do: whoever lets it go and takes it again is faster than the one that is
// woken for it.
void Progress::give_way() noexcept {
  const int before = wanted_.load(std::memory_order_relaxed);
  unlock();
  constexpr int kPatience = 400, kPatienceOnCore = 300;  // rounds; they may have left the core
  for (int i = 0; i < kPatience && wanted_.load(std::memory_order_relaxed) >= before; ++i)
    if (i >= kPatienceOnCore) ::sched_yield();
  lock();
}

void Progress::idle(uint32_t step, Idleness* idleness) noexcept {
  if (step == 1) idleness->since_ns = now_ns();
  const bool yields = doorbell_ == nullptr || now_ns() - idleness->since_ns <= yield_ns_;
  if (yields) idleness->first_sleep = step + 1;
  unlock();
  if (yields) {
    ::sched_yield();
    lock();
    return;
  }
  doorbell_->arm();
  lock();
  const bool found = poll() != 0;
  unlock();
  if (found) {
    doorbell_->disarm();
  } else {
    const bool early = step - idleness->first_sleep < kRoundsBeforeLongSleep;
    doorbell_->sleep(early ? kFirstSleepUs : kLongestSleepUs);
  }
  lock();
}

}  // namespace tern::core
