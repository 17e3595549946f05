// SPDX-License-Identifier: Apache-2.0
// Sleeps on words in shared memory.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace softcuda {

/// sleep_on() sleeps until the ring, at most 0.1 s.
inline void sleep_on(std::atomic<uint32_t>& bell, uint32_t seen) {
  const timespec limit{0, 100'000'000};
  syscall(SYS_futex, &bell, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

inline void wake(std::atomic<uint32_t>& bell) {
  syscall(SYS_futex, &bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace softcuda
