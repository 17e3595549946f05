// SPDX-License-Identifier: Apache-2.0
// Futex: sleeping until a word changes, or one of two. The words may lie in memory of several
// processes. Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

namespace tern {

/// A word, and the value on which to sleep: a change of it, with futex_wake_all(), ends the sleep.
struct FutexWord {
  std::atomic<uint32_t>* word = nullptr;
  uint32_t value = 0;
};

inline constexpr int64_t kNoLimit = 0;  // microseconds

/// Returns when the word has another value, at the latest after so long; also without a reason.
void futex_sleep(const FutexWord& on, int64_t microseconds) noexcept;
/// The same for several words, at most kMostWords: one change ends the sleep. False, at once, on
/// kernels before 5.16.
inline constexpr int kMostWords = 3;
bool futex_sleep(const FutexWord* words, int count, int64_t microseconds) noexcept;
/// Whether the kernel can wait for several words.
[[nodiscard]] bool futex_takes_several() noexcept;
void futex_wake_all(std::atomic<uint32_t>& word) noexcept;

}  // namespace tern
