// SPDX-License-Identifier: Apache-2.0
// Doorbell: the two futex calls.
#include "base/doorbell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace tern {

void Doorbell::sleep(int64_t microseconds) noexcept {
  timespec limit{};
  limit.tv_sec = microseconds / 1000000;
  limit.tv_nsec = (microseconds % 1000000) * 1000;
  ::syscall(SYS_futex, &state_, FUTEX_WAIT, static_cast<uint32_t>(kAsleep), &limit, nullptr, 0);
  disarm();
}

void Doorbell::wake() noexcept {
  if (state_.exchange(kAwake, std::memory_order_acq_rel) == kAsleep)
    ::syscall(SYS_futex, &state_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tern
