// SPDX-License-Identifier: Apache-2.0
// Pool: a fixed number of objects lent to a library, which returns each object before the channel's
// transport ends.
#pragma once

#include <cstddef>
#include <memory>

namespace tern::btl::net {

/// T has a member `T* next`.
template <class T>
class FreeList {
 public:
  explicit FreeList(size_t count) : all_(new T[count]) {
    for (size_t i = count; i > 0; --i) push(all_[i - 1]);
  }
  [[nodiscard]] T* take() noexcept {
    T* const taken = free_;
    if (taken == nullptr) return nullptr;
    free_ = taken->next;
    ++away_;
    return taken;
  }
  void give_back(T& one) noexcept {
    push(one);
    --away_;
  }
  [[nodiscard]] size_t away() const noexcept { return away_; }

 protected:
  [[nodiscard]] T& at(size_t i) noexcept { return all_[i]; }

 private:
  void push(T& one) noexcept {
    one.next = free_;
    free_ = &one;
  }
  std::unique_ptr<T[]> all_;
  T* free_ = nullptr;
  size_t away_ = 0;
};

}  // namespace tern::btl::net
