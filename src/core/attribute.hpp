// SPDX-License-Identifier: Apache-2.0
// Attributes: values that programs cache on communicators, datatypes and windows, with keys and
// callbacks.
// Lifetime: a Keyval lives until the user frees the key and the last attribute with the key is
// deleted. An Attributes belongs to its object.
// Threads: any. Callbacks run without a lock and may call MPI; each value is deleted once.
// See: MPI-5.0 section 7.7; tests/mpi/attributes.c, tests/unit/core/attribute_test.cc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/object_lock.hpp"
#include "mpi.h"

namespace tern::core {

/// The callbacks of MPI_Comm_, MPI_Type_ and MPI_Win_create_keyval differ only in the handle's
/// type.
struct Keyval {
  using Copy = int(void* handle, int keyval, void* extra, void* in, void* out, int* flag);
  using Delete = int(void* handle, int keyval, void* value, void* extra);
  Kind kind = Kind::kNone;
  Copy* copy = nullptr;     // null (MPI_COMM_NULL_COPY_FN): copies nothing
  Delete* erase = nullptr;  // null (MPI_COMM_NULL_DELETE_FN): no callback
  void* extra = nullptr;
};

/// The user's keys start at kFirst, above the ABI's predefined keys.
class Keyvals {
 public:
  static constexpr int kFirst = 4096;
  int add(const Keyval& keyval);
  /// Also finds a freed key that an attribute still uses. Returns nullptr for an unknown key.
  [[nodiscard]] std::shared_ptr<const Keyval> find(int number, Kind kind) const noexcept;
  /// Frees the key; its number stays valid while attributes use the key. A second call has no
  /// effect. Returns false if no key of this kind has the number.
  bool erase(int number, Kind kind) noexcept;

 private:
  struct Slot {
    std::shared_ptr<const Keyval> held;
    std::weak_ptr<const Keyval> key;
  };
  mutable std::mutex mutex_;
  std::map<int, Slot> slots_;
  int next_ = kFirst;
};

/// The attributes of one object, in the order of their setting.
class Attributes {
 public:
  bool get(int keyval, void** value) const noexcept;
  /// Deletes an old value by its callback first. Returns the callback's error. Throws
  /// std::bad_alloc.
  [[nodiscard]] int set(std::shared_ptr<const Keyval> key, int keyval, void* value,
                        uintptr_t owner);
  /// Returns the delete callback's error, or MPI_ERR_KEYVAL if the attribute is not set.
  [[nodiscard]] int erase(int keyval, uintptr_t owner);

  /// For MPI_Comm_dup and MPI_Type_dup: runs the copy callbacks of `owner`'s attributes. After an
  /// error the caller undoes the copies with to.delete_all().
  [[nodiscard]] int copy_all(uintptr_t owner, Attributes& to) const;
  /// For the end of an object: runs the delete callbacks, last set first. Stops at the first
  /// callback that fails, and returns the error.
  [[nodiscard]] int delete_all(uintptr_t owner);

 private:
  struct Entry {
    int keyval;
    std::shared_ptr<const Keyval> key;
    void* value;
    uint64_t number;
    bool leaving = false;  // the delete callback is running; get() still reads the value
  };
  using Lock = std::unique_lock<std::mutex>;
  static constexpr size_t kNone = ~size_t{0};

  [[nodiscard]] Lock hold() const;
  /// The index of an entry that no thread is deleting: by key, or the last. The caller holds the
  /// lock.
  [[nodiscard]] size_t staying(int keyval) const noexcept;
  [[nodiscard]] size_t last_staying() const noexcept;
  /// Runs the delete callback without the lock, and removes the entry on success. The caller holds
  /// the lock.
  [[nodiscard]] int end_entry(Lock& lock, size_t index, uintptr_t owner);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  uint64_t next_number_ = 0;
};

}  // namespace tern::core
