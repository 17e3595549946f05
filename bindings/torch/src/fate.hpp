// SPDX-License-Identifier: Apache-2.0
// Whether a group is dead, and the first reason.
// Why: errors, time-outs and aborts come from all threads; only the first counts. A binding does
// not link tern::Fate of the library, and abort hooks run before the death. Lifetime: of the group.
// Threads: any. Cost: dead() is one load.
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
  // The reason; empty while the object is alive.
  std::string why() const { return dead() ? why_ : std::string(); }
  bool by_timeout() const { return dead() && by_timeout_; }

  // Once: asks for the reason, runs the hooks (for two seconds at most), declares the death, calls
  // `tell`. Later callers wait for the end of the first call.
  void end(const std::function<std::string()>& why, bool by_timeout,
           const std::function<void()>& tell);

  void set_abort_hook(std::int64_t id, std::function<void()> hook);
  void remove_abort_hook(std::int64_t id);

 private:
  std::recursive_mutex ending_;
  bool is_ending_ = false;   // under ending_
  bool by_timeout_ = false;  // this and why_ are written before is_dead_
  std::string why_;
  std::atomic<bool> is_dead_{false};
  std::mutex mutex_;  // of the hooks
  std::map<std::int64_t, std::function<void()>> hooks_;
};

// Waits until all abort hooks have returned. Hooks may need Python.
void await_hooks();

}  // namespace torch_tern

#endif
