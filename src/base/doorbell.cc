// SPDX-License-Identifier: Apache-2.0
// Doorbell: sleeping and waking.
#include "base/doorbell.hpp"

namespace tern {

void Doorbell::sleep(int64_t microseconds, const FutexWord& also) noexcept {
  const FutexWord rung{&state_, kAsleep};
  if (also.word == nullptr)
    futex_sleep(rung, microseconds);
  else
    futex_sleep(rung, also, microseconds);
  disarm();
}

void Doorbell::wake() noexcept {
  if (state_.exchange(kAwake, std::memory_order_acq_rel) == kAsleep) futex_wake_all(state_);
}

}  // namespace tern
