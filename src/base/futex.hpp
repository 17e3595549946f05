// SPDX-License-Identifier: Apache-2.0
// Futex: sleeps until words change, also between processes. Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

namespace tern {

struct FutexWord {
  std::atomic<uint32_t>* word = nullptr;
  uint32_t value = 0;
};

inline constexpr int64_t kNoLimit = 0;  // microseconds

/// The sleep may end spuriously.
void futex_sleep(const FutexWord& on, int64_t microseconds) noexcept;
/// Sleeps on at most kMostWords words. Returns false at once on kernels before 5.16.
inline constexpr int kMostWords = 3;
bool futex_sleep(const FutexWord* words, int count, int64_t microseconds) noexcept;
[[nodiscard]] bool futex_takes_several() noexcept;
void futex_wake_all(std::atomic<uint32_t>& word) noexcept;

}  // namespace tern
