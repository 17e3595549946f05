// SPDX-License-Identifier: Apache-2.0
// Attributes: the values that users (and libraries) hang on communicators, datatypes and windows,
// and the keys with their copy and delete callbacks. Lifetime: a Keyval lives until it was freed by
// the user and by the last attribute that uses it; an Attributes belongs to its object. Threads:
// any; callbacks run without a lock, so they may call MPI; each value is deleted once. See: MPI-5.0
// section 7.7;
// tests/mpi/attributes.c, tests/unit/core/attribute_test.cc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/object_lock.hpp"
#include "mpi.h"

namespace tern::core {

/// One key: which kind of object it fits, and what happens when the object is duplicated or freed.
/// The callbacks of MPI_Comm_, MPI_Type_ and MPI_Win_create_keyval differ in the handle's type
/// only.
struct Keyval {
  using Copy = int(void* handle, int keyval, void* extra, void* in, void* out, int* flag);
  using Delete = int(void* handle, int keyval, void* value, void* extra);
  Kind kind = Kind::kNone;
  Copy* copy = nullptr;     // MPI_COMM_NULL_COPY_FN is null: nothing is copied
  Delete* erase = nullptr;  // MPI_COMM_NULL_DELETE_FN is null: nothing is called
  void* extra = nullptr;
};

/// All keys of a process. Keys of users begin at kFirst; below are the predefined ones of the ABI.
class Keyvals {
 public:
  static constexpr int kFirst = 4096;
  int add(const Keyval& keyval);
  /// The key, also while it is freed but still used by an attribute; nullptr where unknown.
  [[nodiscard]] std::shared_ptr<const Keyval> find(int number, Kind kind) const noexcept;
  /// Frees it: attributes that have it keep it usable by its number until the last of them goes.
  /// Again changes nothing. False where there is no such key of this kind.
  bool erase(int number, Kind kind) noexcept;

 private:
  struct Slot {
    std::shared_ptr<const Keyval> held;  // until it is freed
    std::weak_ptr<const Keyval> key;
  };
  mutable std::mutex mutex_;
  std::map<int, Slot> slots_;
  int next_ = kFirst;
};

/// The attributes of one object, in the order in which they were set.
class Attributes {
 public:
  /// The value of a key; false where it is not set.
  bool get(int keyval, void** value) const noexcept;
  /// Sets it; an old value is deleted first by its callback. Returns the callback's error. Throws
  /// std::bad_alloc.
  [[nodiscard]] int set(std::shared_ptr<const Keyval> key, int keyval, void* value,
                        uintptr_t owner);
  /// Deletes one; MPI_ERR_KEYVAL where it is not set. Returns the callback's error.
  [[nodiscard]] int erase(int keyval, uintptr_t owner);

  /// For MPI_Comm_dup and MPI_Type_dup: runs the copy callbacks (this object is `owner`) into `to`.
  /// On an error the callbacks so far are not undone: to.delete_all() does that.
  [[nodiscard]] int copy_all(uintptr_t owner, Attributes& to) const;
  /// For the end of an object: runs the delete callbacks, last set first. Where a callback fails,
  /// its error is returned and what is left stays.
  [[nodiscard]] int delete_all(uintptr_t owner);

 private:
  struct Entry {
    int keyval;
    std::shared_ptr<const Keyval> key;
    void* value;
    uint64_t number;
    bool leaving = false;  // a thread runs its delete callback; until that ends it can be read
  };
  using Lock = std::unique_lock<std::mutex>;
  static constexpr size_t kNone = ~size_t{0};

  [[nodiscard]] Lock hold() const;
  /// The index of what no thread is deleting: the entry of a key, or the last of all. Lock held.
  [[nodiscard]] size_t staying(int keyval) const noexcept;
  [[nodiscard]] size_t last_staying() const noexcept;
  /// Runs the delete callback of an entry, and removes it unless that fails. The lock, which is
  /// held, is given up for the callback.
  [[nodiscard]] int end_entry(Lock& lock, size_t index, uintptr_t owner);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // in the order of their numbers
  uint64_t next_number_ = 0;
};

}  // namespace tern::core
