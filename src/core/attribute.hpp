// SPDX-License-Identifier: Apache-2.0
// Attributes: values cached on communicators, datatypes and windows, with keys and callbacks
// (MPI-5.0 section 7.7).
// Lifetime: a Keyval lives until its key is freed and unused.
// Threads: any. Callbacks run without a lock and may call MPI; each value is deleted once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/object_lock.hpp"
#include "mpi.h"

namespace tern::core {

struct Keyval {
  using Copy = int(void* handle, int keyval, void* extra, void* in, void* out, int* flag);
  using Delete = int(void* handle, int keyval, void* value, void* extra);
  Kind kind = Kind::kNone;
  Copy* copy = nullptr;     // null: MPI_COMM_NULL_COPY_FN
  Delete* erase = nullptr;  // null: MPI_COMM_NULL_DELETE_FN
  void* extra = nullptr;
};

class Keyvals {
 public:
  static constexpr int kFirst = 4096;
  int add(const Keyval& keyval);
  /// find() also returns a freed key still in use.
  [[nodiscard]] std::shared_ptr<const Keyval> find(int number, Kind kind) const noexcept;
  /// A key's number stays valid while attributes use the key.
  bool erase(int number, Kind kind) noexcept;

 private:
  struct KeyvalSlot {
    std::shared_ptr<const Keyval> held;
    std::weak_ptr<const Keyval> key;
  };
  mutable std::mutex mutex_;
  std::map<int, KeyvalSlot> slots_;
  int next_ = kFirst;
};

class Attributes {
 public:
  bool get(int keyval, void** value) const noexcept;
  /// set() deletes an old value first, and returns the callback's error. Throws std::bad_alloc.
  [[nodiscard]] int set(std::shared_ptr<const Keyval> key, int keyval, void* value,
                        uintptr_t owner);
  [[nodiscard]] int erase(int keyval, uintptr_t owner);

  [[nodiscard]] int copy_all(uintptr_t owner, Attributes& to) const;
  /// Delete callbacks run last set first, until one fails.
  [[nodiscard]] int delete_all(uintptr_t owner);

 private:
  struct AttributeValue {
    int keyval;
    std::shared_ptr<const Keyval> key;
    void* value;
    uint64_t number;
    bool leaving = false;
  };
  using Lock = std::unique_lock<std::mutex>;
  static constexpr size_t kNone = ~size_t{0};

  [[nodiscard]] Lock hold() const;
  /// staying() returns the index of an entry in no deletion, and requires the lock.
  [[nodiscard]] size_t staying(int keyval) const noexcept;
  [[nodiscard]] size_t last_staying() const noexcept;
  /// end_entry() requires the lock, but runs the delete callback without the lock.
  [[nodiscard]] int end_entry(Lock& lock, size_t index, uintptr_t owner);

  mutable std::mutex mutex_;
  std::vector<AttributeValue> entries_;
  uint64_t next_number_ = 0;
};

}  // namespace tern::core
