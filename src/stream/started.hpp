// SPDX-License-Identifier: Apache-2.0
// Started: persistent messages started in a communicator's stream and not yet waited for. The
// user's request stays inactive meanwhile.
// Lifetime: the communicator's. Key: the request's handle, which is never reused. Threads: any.
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
  void add(uintptr_t request, std::shared_ptr<Pending> what) {
    const std::lock_guard<std::mutex> guard(mutex_);
    all_[request] = std::move(what);
  }
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
