// SPDX-License-Identifier: Apache-2.0
// ObjectPool: reusable objects, so the data path allocates nothing.
// Threads: if `threaded`, any may acquire and release.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

namespace tern::pml {

template <class T>
class ObjectPool {
 public:
  void set_threaded(bool threaded) noexcept { threaded_ = threaded; }

  /// acquire() returns null if all objects are in use.
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
    return add(std::move(object), [](T&) {});
  }
  template <class Prepare>
  T* add(std::unique_ptr<T> object, const Prepare& prepare) {
    const PoolLock held(*this);
    all_.push_back(std::move(object));
    try {
      free_.reserve(all_.capacity());
      prepare(*all_.back());
    } catch (...) {
      all_.pop_back();
      throw;
    }
    return all_.back().get();
  }
  void release(T& object) noexcept {
    lock();
    free_.push_back(&object);  // add() has reserved capacity
    unlock();
  }
  [[nodiscard]] size_t in_use() const noexcept { return all_.size() - free_.size(); }
  [[nodiscard]] const std::vector<std::unique_ptr<T>>& all() const noexcept { return all_; }

 private:
  class PoolLock {
   public:
    explicit PoolLock(ObjectPool& pool) noexcept : pool_(pool) { pool_.lock(); }
    PoolLock(const PoolLock&) = delete;
    PoolLock& operator=(const PoolLock&) = delete;
    ~PoolLock() { pool_.unlock(); }

   private:
    ObjectPool& pool_;
  };
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
