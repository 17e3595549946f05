// SPDX-License-Identifier: Apache-2.0
// Epoch: a rank's current access and exposure epochs on a window.
// Why: a call in the wrong epoch gives MPI_ERR_RMA_SYNC, naming both calls. Rules (MPI-5.0 section
// 12.5): one access epoch (fence, start, locks) and one exposure epoch (fence, post) at a time. An
// unused fence epoch ends without a call. Threads: changes need the channel's lock; any thread
// reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/current_call.hpp"

namespace tern::rma {

class Epoch {
 public:
  enum class Access : uint8_t { kNone, kFence, kStart, kLock, kLockAll };
  enum class Exposure : uint8_t { kNone, kFence, kPost };
  enum class Reach : uint8_t { kNone, kShared, kExclusive, kStarted, kPosted };

  explicit Epoch(int ranks) : reach_(static_cast<size_t>(ranks)) {}

  [[nodiscard]] Access access() const noexcept { return access_; }
  [[nodiscard]] Exposure exposure() const noexcept { return exposure_; }
  [[nodiscard]] Reach reach(int target) const noexcept {
    return reach_[static_cast<size_t>(target)];
  }
  void set_reach(int target, Reach reach) noexcept { reach_[static_cast<size_t>(target)] = reach; }
  [[nodiscard]] int locks() const noexcept { return locks_; }

  [[nodiscard]] bool passive(int target) const noexcept {
    return access_ == Access::kLockAll ||
           (access_ == Access::kLock && reach(target) != Reach::kNone);
  }

  // The checks return 0, or MPI_ERR_RMA_SYNC with fail() text.
  [[nodiscard]] int may_fence() const noexcept;
  [[nodiscard]] int may_begin_access() const noexcept {
    return access_ == Access::kNone || (access_ == Access::kFence && !used()) ? 0 : refuse_open();
  }
  [[nodiscard]] int may_lock(int target) const noexcept {
    if (access_ != Access::kLock) return may_begin_access();
    return reach(target) == Reach::kNone ? 0 : refuse_lock(target);
  }
  [[nodiscard]] int may_unlock(int target) const noexcept {
    return access_ == Access::kLock && reach(target) != Reach::kNone ? 0 : refuse_unlock(target);
  }
  [[nodiscard]] int may_unlock_all() const noexcept;
  [[nodiscard]] int may_flush() const noexcept;
  [[nodiscard]] int may_flush(int target) const noexcept {
    return passive(target) ? 0 : refuse_flush(target);
  }
  [[nodiscard]] int may_complete() const noexcept;
  [[nodiscard]] int may_post() const noexcept;
  [[nodiscard]] int may_wait() const noexcept;
  [[nodiscard]] int may_free() const noexcept;
  /// Allows an operation, and marks a fence epoch as used.
  [[nodiscard]] int use(int target) noexcept {
    if (access_ == Access::kLockAll || reach(target) != Reach::kNone) [[likely]]
      return 0;
    if (access_ != Access::kFence) return refuse_access(target);
    used_.store(true, std::memory_order_relaxed);
    return 0;
  }
  /// A fast check without bookkeeping; a false result decides nothing.
  [[nodiscard]] bool is_open_to(int target) const noexcept {
    if (access_ == Access::kLockAll) return true;
    const Reach reach = this->reach(target);
    if (reach != Reach::kNone) return reach != Reach::kStarted;
    return access_ == Access::kFence && used();
  }
  /// Request-based operations need a passive epoch.
  [[nodiscard]] int may_request(int target) const noexcept;

  void fenced(bool opens) noexcept;
  void begin(Access access) noexcept;
  void end_access() noexcept;
  void locked(int target, bool exclusive) noexcept;
  void unlocked(int target) noexcept;
  void posted() noexcept;
  void end_exposure() noexcept;

 private:
  [[nodiscard]] bool used() const noexcept { return used_.load(std::memory_order_relaxed); }
  [[nodiscard]] int refuse_access(int target) const noexcept;
  [[nodiscard]] int refuse_flush(int target) const noexcept;
  [[nodiscard]] int refuse_lock(int target) const noexcept;
  [[nodiscard]] int refuse_unlock(int target) const noexcept;
  [[nodiscard]] int refuse_open() const noexcept;
  [[nodiscard]] int refuse_exposed() const noexcept;
  [[nodiscard]] int refuse_end(const char* what) const noexcept;

  Access access_ = Access::kNone;
  Exposure exposure_ = Exposure::kNone;
  std::atomic<bool> used_{false};
  int locks_ = 0;
  std::vector<Reach> reach_;
  const char* opened_by_ = nullptr;
  const char* ended_by_ = nullptr;
  const char* exposed_by_ = nullptr;
  const char* hidden_by_ = nullptr;
};

}  // namespace tern::rma
