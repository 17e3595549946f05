// SPDX-License-Identifier: Apache-2.0
// Futex: the system calls.
#include "base/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace tern {
namespace {

constexpr int64_t kMicrosecondsPerSecond = 1000000;

timespec time_of(int64_t microseconds) noexcept {
  timespec time{};
  time.tv_sec = microseconds / kMicrosecondsPerSecond;
  time.tv_nsec = (microseconds % kMicrosecondsPerSecond) * 1000;
  return time;
}

int64_t microseconds_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kMicrosecondsPerSecond + now.tv_nsec / 1000;
}

}  // namespace

void futex_sleep(const FutexWord& on, int64_t microseconds) noexcept {
  const timespec limit = time_of(microseconds);
  ::syscall(SYS_futex, on.word, FUTEX_WAIT, on.value, microseconds == kNoLimit ? nullptr : &limit,
            nullptr, 0);
}

void futex_sleep(const FutexWord& first, const FutexWord& second, int64_t microseconds) noexcept {
#ifdef SYS_futex_waitv
  futex_waitv words[2] = {{first.value, reinterpret_cast<uintptr_t>(first.word), FUTEX_32, 0},
                          {second.value, reinterpret_cast<uintptr_t>(second.word), FUTEX_32, 0}};
  const timespec until = time_of(microseconds_now() + microseconds);
  if (::syscall(SYS_futex_waitv, words, 2, 0, microseconds == kNoLimit ? nullptr : &until,
                CLOCK_MONOTONIC) >= 0 ||
      errno != ENOSYS)
    return;
#else
  (void)first;
#endif
  constexpr int64_t kShort = 1000;
  futex_sleep(second, microseconds == kNoLimit ? kShort : std::min(microseconds, kShort));
}

void futex_wake_all(std::atomic<uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tern
