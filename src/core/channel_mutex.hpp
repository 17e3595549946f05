// SPDX-License-Identifier: Apache-2.0
// ChannelMutex: the lock of a channel, a no-op below MPI_THREAD_MULTIPLE.
// Why: a lock lasts less long than a wake-up, so waiters spin before sleeping, and a thread in
// MPI_Wait yields.
#pragma once

#include <atomic>
#include <mutex>

#include "base/error.hpp"

namespace tern::core {

class ChannelMutex {
 public:
  void set_threaded(bool threaded) noexcept { threaded_ = threaded; }
  [[nodiscard]] bool threaded() const noexcept { return threaded_; }
  void lock() noexcept {
    if (TERN_UNLIKELY(threaded_)) lock_among_threads();
  }
  void unlock() noexcept {
    if (TERN_UNLIKELY(threaded_)) mutex_.unlock();
  }
  [[nodiscard]] bool try_lock() noexcept { return !threaded_ || mutex_.try_lock(); }
  [[nodiscard]] bool wanted() const noexcept {
    return wanted_.load(std::memory_order_relaxed) != 0;
  }
  /// The caller holds the lock before and after give_way().
  void give_way() noexcept;

 private:
  void lock_among_threads() noexcept;

  bool threaded_ = false;
  std::atomic<int> wanted_{0};
  std::mutex mutex_;
};

}  // namespace tern::core
