// SPDX-License-Identifier: Apache-2.0
// ObjectPool: objects that are reused, never given back to the heap before the end.
// Why: no allocation on the data path.
// Threads: acquire and release may come from different threads where `threaded`.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

namespace tern::pml {

template <class T>
class ObjectPool {
 public:
  void set_threaded(bool threaded) noexcept { threaded_ = threaded; }

  /// A used object, or nullptr if all are in use (then add() one).
  [[nodiscard]] T* acquire() noexcept {
    lock();
    T* object = nullptr;
    if (!free_.empty()) {
      object = free_.back();
      free_.pop_back();
    }
    unlock();
    return object;
  }
  T* add(std::unique_ptr<T> object) {
    lock();
    all_.push_back(std::move(object));
    free_.reserve(all_.capacity());
    T* added = all_.back().get();
    unlock();
    return added;
  }
  void release(T& object) noexcept {
    lock();
    free_.push_back(&object);  // reserved by add()
    unlock();
  }
  [[nodiscard]] size_t in_use() const noexcept { return all_.size() - free_.size(); }
  [[nodiscard]] const std::vector<std::unique_ptr<T>>& all() const noexcept { return all_; }

 private:
  void lock() noexcept {
    if (threaded_)
      while (busy_.test_and_set(std::memory_order_acquire)) {
      }
  }
  void unlock() noexcept {
    if (threaded_) busy_.clear(std::memory_order_release);
  }

  std::vector<std::unique_ptr<T>> all_;
  std::vector<T*> free_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  bool threaded_ = false;
};

}  // namespace tern::pml
