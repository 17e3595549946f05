// SPDX-License-Identifier: Apache-2.0
// HandleTable: maps a user's handle word to an object and never trusts the word. Why: a stale or
// garbage handle gives an error class, never a crash. Word: below 4096 a constant of the ABI;
// otherwise 32 bits of generation, one bit 0, 4 bits of kind, 27 bits of index (from 4096).
// MPI_*_toint returns the low 32 bits. Threads: find is lock-free.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/object.hpp"

namespace tern::core {

class HandleTable {
 public:
  static constexpr uint32_t kPredefined = 4096;
  static constexpr uint32_t kIndexBits = 27;
  static constexpr uint32_t kIndexMask = (1U << kIndexBits) - 1;

  HandleTable();
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;
  ~HandleTable();

  template <class T>
  [[nodiscard]] T* find(uintptr_t word) const noexcept {
    Object* object = look_up(word, T::kKind);
    return static_cast<T*>(object);
  }
  template <class T, class Handle>
  [[nodiscard]] T* find(Handle* handle) const noexcept {
    return find<T>(reinterpret_cast<uintptr_t>(handle));
  }

  /// insert() throws Error(MPI_ERR_NO_MEM) beyond 2^27 handles.
  uintptr_t insert(Object& object);
  /// The table owns the caller's reference until erase() or the table's end.
  void set_predefined(uintptr_t abi_value, Object& object);
  void erase(Object& object) noexcept;
  uintptr_t renew(Object& object) noexcept;
  [[nodiscard]] uintptr_t from_int(int value) const noexcept;
  [[nodiscard]] std::vector<Object*> live(Kind kind) const;

 private:
  struct HandleEntry {
    std::atomic<Object*> object{nullptr};
    std::atomic<uint32_t> generation{1};
  };
  static constexpr uint32_t kChunk = 1024;
  static constexpr uint32_t kChunks = (1U << kIndexBits) / kChunk;
  static constexpr uint32_t kConstants = 1024;
  using Chunk = std::array<HandleEntry, kChunk>;

  [[nodiscard]] HandleEntry* entry(uint32_t index) const noexcept {
    const Chunk* chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    if (chunk == nullptr) return nullptr;
    return const_cast<HandleEntry*>(&(*chunk)[index % kChunk]);
  }
  [[nodiscard, gnu::always_inline]] Object* look_up(uintptr_t word, Kind kind) const noexcept {
    Object* object;
    if (word < kPredefined) {
      object = word < kConstants ? predefined_[word] : nullptr;
    } else {
      const HandleEntry* found = entry(static_cast<uint32_t>(word) & kIndexMask);
      if (found == nullptr) return nullptr;
      object = found->object.load(std::memory_order_acquire);
      if (object == nullptr || object->handle() != word) return nullptr;
    }
    return object != nullptr && object->kind() == kind ? object : nullptr;
  }
  static uint32_t generation_of(uintptr_t word) noexcept {
    return static_cast<uint32_t>(word >> 32);
  }
  static uintptr_t word_of(Kind kind, uint32_t index, uint32_t generation) noexcept {
    return (static_cast<uintptr_t>(generation) << 32) |
           (static_cast<uintptr_t>(kind) << kIndexBits) | index;
  }

  std::array<Object*, kConstants> predefined_{};
  std::atomic<Chunk*>* chunks_;
  std::mutex mutex_;
  std::vector<uint32_t> free_;
  uint32_t next_ = kPredefined;
};

}  // namespace tern::core
