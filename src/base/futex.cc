// SPDX-License-Identifier: Apache-2.0
#include "base/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

bool futex_sleep(const FutexWord* words, int count, int64_t microseconds) noexcept {
#ifdef SYS_futex_waitv
  futex_waitv all[kMostWords] = {};
  for (int i = 0; i < count; ++i)
    all[i] = {words[i].value, reinterpret_cast<uintptr_t>(words[i].word), FUTEX_32, 0};
  const timespec until = time_of(microseconds_now() + microseconds);
  return ::syscall(SYS_futex_waitv, all, count, 0, microseconds == kNoLimit ? nullptr : &until,
                   CLOCK_MONOTONIC) >= 0 ||
         errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR;
#else
  (void)words;
  (void)count;
  (void)microseconds;
  return false;
#endif
}

bool futex_takes_several() noexcept {
  std::atomic<uint32_t> word{1};
  const FutexWord changed[2] = {{&word, 0}, {&word, 0}};
  return futex_sleep(changed, 2, 1);
}

void futex_wake_all(std::atomic<uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tern
