// SPDX-License-Identifier: Apache-2.0
// operator new and delete keep large blocks for reuse under TSan.
// Why: libtsan unmaps the shadow of a freed large block. Each page of a new block then costs two
// faults and an interrupt of other cores, half of the CPU time of tests with large messages.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>

extern "C" void __tsan_write_range(void* memory, size_t bytes);

namespace tern::test {

class KeptBlocks {
 public:
  static constexpr size_t kLeast = 64 << 10;
  /// Rounds bytes up to the next power of two; 0: not kept.
  static size_t rounded(size_t bytes) noexcept {
    size_t size = kLeast;
    while (size < bytes && size < kMost) size *= 2;
    return bytes <= kLeast / 2 || bytes > size ? 0 : size;
  }
  void* take(size_t size) noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    Block*& first = first_of(size);
    Block* const taken = first;
    if (taken != nullptr) first = taken->next;
    return taken;
  }
  bool keep(void* memory) noexcept {
    const size_t size = ::malloc_usable_size(memory);
    if (size < kLeast || rounded(size) != size) return false;
    __tsan_write_range(memory, 1024);  // as in free(): finds late accesses of other threads
    const std::lock_guard<std::mutex> guard(mutex_);
    Block*& first = first_of(size);
    first = new (memory) Block{first};
    return true;
  }

 private:
  static constexpr size_t kClasses = 8, kMost = kLeast << (kClasses - 1);
  struct Block {
    Block* next;
  };
  Block*& first_of(size_t size) noexcept { return first_[__builtin_ctzl(size / kLeast)]; }
  std::mutex mutex_;
  Block* first_[kClasses] = {};
};
inline constinit KeptBlocks kept_blocks;

}  // namespace tern::test

// Weak: live_bytes.hpp may stand in the same program.
[[gnu::weak]] void* operator new(size_t bytes) {
  const size_t size = tern::test::KeptBlocks::rounded(bytes);
  void* memory = size != 0 ? tern::test::kept_blocks.take(size) : nullptr;
  if (memory == nullptr) memory = std::malloc(size != 0 ? size : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::weak]] void operator delete(void* memory) noexcept {
  if (memory != nullptr && !tern::test::kept_blocks.keep(memory)) std::free(memory);
}
[[gnu::weak]] void operator delete(void* memory, size_t) noexcept { ::operator delete(memory); }
#endif
