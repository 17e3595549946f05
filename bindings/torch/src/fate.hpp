// SPDX-License-Identifier: Apache-2.0
// The state of a group: alive, or dead with the first reason.
// Why: errors, timeouts and aborts come from any thread, and only the first counts. Unlike
// tern::Fate, this class runs abort hooks before the death.
// Lifetime: of the group. Threads: any. Cost: dead() is one load.
#ifndef TORCH_TERN_FATE_HPP
#define TORCH_TERN_FATE_HPP

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace torch_tern {

class Fate {
 public:
  bool dead() const { return is_dead_.load(std::memory_order_acquire); }
  std::string why() const { return dead() ? why_ : std::string(); }
  bool by_timeout() const { return dead() && by_timeout_; }

  // end() takes effect once: gets the reason, runs the hooks (at most 2 s), marks the group dead,
  // calls `tell`. Concurrent callers block meanwhile.
  void end(const std::function<std::string()>& why, bool by_timeout,
           const std::function<void()>& tell);

  void set_abort_hook(std::int64_t id, std::function<void()> hook);
  void remove_abort_hook(std::int64_t id);

 private:
  std::recursive_mutex ending_;
  bool is_ending_ = false;
  bool by_timeout_ = false;  // written before is_dead_, like why_
  std::string why_;
  std::atomic<bool> is_dead_{false};
  std::mutex mutex_;
  std::map<std::int64_t, std::function<void()>> hooks_;
};

// Waits for the abort hooks, which may need the GIL.
void await_hooks();

}  // namespace torch_tern

#endif
