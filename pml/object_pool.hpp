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
    return add(std::move(object), [](T&) {});
  }
  /// `prepare` is called with the object. Where it throws, or std::bad_alloc comes, the pool is as
  /// before.
  template <class Prepare>
  T* add(std::unique_ptr<T> object, const Prepare& prepare) {
    const Held held(*this);
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
    free_.push_back(&object);  // reserved by add()
    unlock();
  }
  [[nodiscard]] size_t in_use() const noexcept { return all_.size() - free_.size(); }
  [[nodiscard]] const std::vector<std::unique_ptr<T>>& all() const noexcept { return all_; }

 private:
  class Held {
   public:
    explicit Held(ObjectPool& pool) noexcept : pool_(pool) { pool_.lock(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { pool_.unlock(); }

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
