// SPDX-License-Identifier: Apache-2.0
// Futex: sleeps until one or more words change. The words may be shared between processes. Threads:
// any.
#pragma once

#include <atomic>
#include <cstdint>

namespace tern {

/// A word and the expected value: a change followed by futex_wake_all() ends the sleep.
struct FutexWord {
  std::atomic<uint32_t>* word = nullptr;
  uint32_t value = 0;
};

inline constexpr int64_t kNoLimit = 0;  // microseconds

/// Returns after a change of the word, at the latest after `microseconds`. Spurious returns occur.
void futex_sleep(const FutexWord& on, int64_t microseconds) noexcept;
/// Sleeps on several words, at most kMostWords: one change ends the sleep. Returns false
/// immediately on kernels before 5.16.
inline constexpr int kMostWords = 3;
bool futex_sleep(const FutexWord* words, int count, int64_t microseconds) noexcept;
/// Whether the kernel can wait on several words.
[[nodiscard]] bool futex_takes_several() noexcept;
void futex_wake_all(std::atomic<uint32_t>& word) noexcept;

}  // namespace tern
