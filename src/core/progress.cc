// SPDX-License-Identifier: Apache-2.0
// Progress: pollers, and leaving the core.
#include "core/progress.hpp"

#include <sched.h>

#include "base/error.hpp"

namespace tern::core {
namespace {
constexpr int64_t kFirstSleepUs = 1000;
constexpr int64_t kLongestSleepUs = 10000;
constexpr uint32_t kRoundsBeforeLongSleep = 16;
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

void Progress::configure(Doorbell* doorbell, uint32_t spins, uint32_t yields,
                         bool threaded) noexcept {
  doorbell_ = doorbell;
  spins_ = spins;
  yields_ = yields;
  threaded_ = threaded;
}

void Progress::idle(uint32_t rounds) noexcept {
  const uint32_t past_spinning = rounds - spins_;
  unlock();
  if (past_spinning <= yields_ || doorbell_ == nullptr) {
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
    const bool early = past_spinning - yields_ < kRoundsBeforeLongSleep;
    doorbell_->sleep(early ? kFirstSleepUs : kLongestSleepUs);
  }
  lock();
}

}  // namespace tern::core
