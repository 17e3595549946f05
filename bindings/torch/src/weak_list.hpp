// SPDX-License-Identifier: Apache-2.0
// A list of objects owned elsewhere: groups, and operations without a wait. Threads: any. Cost:
// expired entries are erased when the list doubles.
#ifndef TORCH_TERN_WEAK_LIST_HPP
#define TORCH_TERN_WEAK_LIST_HPP

#include <memory>
#include <mutex>
#include <vector>

namespace torch_tern {

template <class Object>
class WeakList {
 public:
  void add(const std::shared_ptr<Object>& object) {
    const std::lock_guard lock(mutex_);
    if (all_.size() >= many_) {
      std::erase_if(all_, [](const std::weak_ptr<Object>& one) { return one.expired(); });
      many_ = 2 * all_.size() + 64;
    }
    all_.push_back(object);
  }

  std::vector<std::shared_ptr<Object>> living() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Object>> living;
    for (const std::weak_ptr<Object>& one : all_) {
      if (auto object = one.lock()) {
        living.push_back(std::move(object));
      }
    }
    return living;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<Object>> all_;
  std::size_t many_ = 64;
};

}  // namespace torch_tern

#endif
