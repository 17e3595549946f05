// SPDX-License-Identifier: Apache-2.0
// ObjectLock and Name: small state of an object under a lock, for MPI_THREAD_MULTIPLE. Cost: one
// flag test otherwise. No user callback runs under the lock.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "core/object.hpp"

namespace tern::core {

class ObjectLock {
 public:
  explicit ObjectLock(std::mutex& mutex) : mutex_(threads_share_objects ? &mutex : nullptr) {
    if (mutex_ != nullptr) mutex_->lock();
  }
  ObjectLock(const ObjectLock&) = delete;
  ObjectLock& operator=(const ObjectLock&) = delete;
  ~ObjectLock() {
    if (mutex_ != nullptr) mutex_->unlock();
  }

 private:
  std::mutex* const mutex_;
};

inline int copy_name(std::string_view name, char* out) noexcept {
  const size_t length = name.copy(out, name.size());
  out[length] = '\0';
  return static_cast<int>(length);
}

class Name {
 public:
  void set(std::string_view text) {
    const ObjectLock lock(mutex_);
    text_ = text;
  }
  [[nodiscard]] std::string text() const {
    const ObjectLock lock(mutex_);
    return text_;
  }
  [[nodiscard]] std::string or_words(const char* words) const {
    const ObjectLock lock(mutex_);
    return text_.empty() ? words : text_;
  }
  [[nodiscard]] bool empty() const {
    const ObjectLock lock(mutex_);
    return text_.empty();
  }
  int copy(char* out) const {
    const ObjectLock lock(mutex_);
    return copy_name(text_, out);
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace tern::core
