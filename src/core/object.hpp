// SPDX-License-Identifier: Apache-2.0
// Object: the base of every MPI object behind a handle.
// Lifetime: counted references of the user's handle and pending uses.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/current_call.hpp"

namespace tern::core {

class Process;

/// threads_share_objects is false below MPI_THREAD_MULTIPLE: plain counts save a third of a small
/// message's time. api::Membership sets the flag while no other thread calls MPI.
inline bool threads_share_objects = true;

enum class Kind : uint32_t {
  kNone = 0,
  kCommunicator = 1,
  kDatatype = 2,
  kGroup = 3,
  kOp = 4,
  kErrorHandler = 5,
  kInfo = 6,
  kRequest = 7,
  kMessage = 8,
  kSession = 9,
  kFile = 10,
  kWindow = 11,
  kStream = 12,
};

class Object {
 public:
  explicit Object(Kind kind) noexcept : kind_(kind) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] uintptr_t handle() const noexcept { return handle_; }
  void set_handle(uintptr_t word) noexcept { handle_ = word; }
  [[nodiscard]] bool predefined() const noexcept { return handle_ != 0 && handle_ < 4096; }

  void retain() noexcept {
    if (threads_share_objects)
      references_.fetch_add(1, std::memory_order_relaxed);
    else
      references_.store(references() + 1, std::memory_order_relaxed);
  }
  void release() noexcept {
    if (drop() == 0) destroy();
  }
  [[nodiscard]] int references() const noexcept {
    return references_.load(std::memory_order_relaxed);
  }

  /// Leak reports use this place; HandleTable::insert sets it.
  CallPlace made_at;

  void revive() noexcept { references_.store(1, std::memory_order_relaxed); }

 protected:
  virtual void destroy() noexcept { delete this; }

 private:
  int drop() noexcept {
    if (threads_share_objects) return references_.fetch_sub(1, std::memory_order_acq_rel) - 1;
    const int left = references() - 1;
    references_.store(left, std::memory_order_relaxed);
    return left;
  }

  const Kind kind_;
  std::atomic<int> references_{1};
  uintptr_t handle_ = 0;
};

template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) noexcept : object_(object) {
    if (object_ != nullptr) object_->retain();
  }
  static Ref adopt(T* object) noexcept {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  Ref(const Ref& other) noexcept : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  Ref& operator=(Ref other) noexcept {
    T* mine = object_;
    object_ = other.object_;
    other.object_ = mine;
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }
  [[nodiscard]] T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  [[nodiscard]] T* leak() noexcept {
    T* object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  T* object_ = nullptr;
};

}  // namespace tern::core
