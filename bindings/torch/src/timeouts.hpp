// SPDX-License-Identifier: Apache-2.0
// The timeout of a group, with extensions for some calls.
// Lifetime: of the group. Threads: any. Cost: of() takes a lock only while extensions exist.
#ifndef TORCH_TERN_TIMEOUTS_HPP
#define TORCH_TERN_TIMEOUTS_HPP

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace torch_tern {

using Milliseconds = std::chrono::milliseconds;

// An Extension adds time to all operations until the first operation with the extension has ended.
struct Extension {
  Milliseconds more;
  bool is_new = true;
  std::atomic<bool> is_over{false};
};

class Timeouts {
 public:
  explicit Timeouts(Milliseconds usual) : usual_(usual) {}

  Milliseconds usual() const { return usual_; }
  void set_usual(Milliseconds time) { usual_ = time; }
  void extend(Milliseconds more) {
    const std::lock_guard lock(mutex_);
    extensions_.push_back(std::make_shared<Extension>());
    extensions_.back()->more = more;
    has_extensions_ = true;
  }

  // `ending` gets the extensions that end with the operation. A negative `wanted` means the usual
  // timeout.
  Milliseconds of(Milliseconds wanted, std::vector<std::shared_ptr<Extension>>& ending) {
    Milliseconds time = wanted < Milliseconds::zero() ? usual() : wanted;
    if (!has_extensions_.load(std::memory_order_relaxed)) [[likely]] {
      return time;
    }
    const std::lock_guard lock(mutex_);
    std::erase_if(extensions_, [](const auto& one) { return one->is_over.load(); });
    has_extensions_ = !extensions_.empty();
    for (const auto& one : extensions_) {
      time += one->more;
      if (std::exchange(one->is_new, false)) {
        ending.push_back(one);
      }
    }
    return time;
  }

 private:
  std::atomic<Milliseconds> usual_;
  std::atomic<bool> has_extensions_{false};
  std::mutex mutex_;
  std::vector<std::shared_ptr<Extension>> extensions_;
};

}  // namespace torch_tern

#endif
