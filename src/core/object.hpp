// SPDX-License-Identifier: Apache-2.0
// Object: what every MPI object behind a handle has in common.
// Lifetime: reference counted; the user's handle is one reference, each pending use another.
// Threads: references are atomic where threads share objects; everything else is the object's own
// affair.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/current_call.hpp"

namespace tern::core {

class Process;

/// True where threads may use one object at once (MPI_THREAD_MULTIPLE, and before the level is
/// known): only then a count costs an atomic operation, which is a third of a small message's time.
/// Set while no other thread calls MPI (api::Membership).
inline bool threads_share_objects = true;

/// What a handle word names. The values are part of a handle's bits (4 bits).
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
  /// The word the user holds; 0 where the object has none (yet).
  [[nodiscard]] uintptr_t handle() const noexcept { return handle_; }
  void set_handle(uintptr_t word) noexcept { handle_ = word; }
  [[nodiscard]] bool predefined() const noexcept { return handle_ != 0 && handle_ < 4096; }

  void retain() noexcept {
    if (threads_share_objects)
      references_.fetch_add(1, std::memory_order_relaxed);
    else
      references_.store(references() + 1, std::memory_order_relaxed);
  }
  /// Deletes the object with the last reference. Predefined objects are never deleted this way.
  void release() noexcept {
    if (drop() == 0) destroy();
  }
  [[nodiscard]] int references() const noexcept {
    return references_.load(std::memory_order_relaxed);
  }

  /// Where a user's object was made (see HandleTable::insert); for reports of what is not freed.
  CallPlace made_at;

  /// A pooled object that came to its end serves again, with one reference.
  void revive() noexcept { references_.store(1, std::memory_order_relaxed); }

 protected:
  /// How the last reference ends; pooled objects go back to their pool instead.
  virtual void destroy() noexcept { delete this; }

 private:
  /// References that are left.
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

/// A counted reference to an Object.
template <class T>
class Ref {
 public:
  Ref() = default;
  /// Takes a further reference.
  explicit Ref(T* object) noexcept : object_(object) {
    if (object_ != nullptr) object_->retain();
  }
  /// Takes over the caller's reference.
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
  /// Gives the reference to the caller.
  [[nodiscard]] T* leak() noexcept {
    T* object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  T* object_ = nullptr;
};

}  // namespace tern::core
