// SPDX-License-Identifier: Apache-2.0
// Started: the persistent messages that were started in a communicator's stream, until the stream
// waits for them. Why: to the user the request is inactive all the time: what is under way is the
// stream's. Lifetime: of the communicator. Requests are known by their handles, which are never
// used again. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace tern::stream {

struct Pending;

class Started {
 public:
  /// Throws std::bad_alloc.
  void add(uintptr_t request, std::shared_ptr<Pending> what) {
    const std::lock_guard<std::mutex> guard(mutex_);
    all_[request] = std::move(what);
  }
  /// Null where it was not started, or was waited for.
  [[nodiscard]] std::shared_ptr<Pending> find(uintptr_t request) const noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = all_.find(request);
    return found == all_.end() ? nullptr : found->second;
  }
  void remove(uintptr_t request) noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    all_.erase(request);
  }

 private:
  mutable std::mutex mutex_;
  std::map<uintptr_t, std::shared_ptr<Pending>> all_;
};

}  // namespace tern::stream
