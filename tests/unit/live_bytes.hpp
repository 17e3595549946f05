// SPDX-License-Identifier: Apache-2.0
// live_bytes: heap bytes in use, counted in operator new and delete.
// Usage: include in a single file of a program.
#pragma once

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace tern::test {
inline std::atomic<long long> live_bytes{0};
}  // namespace tern::test

void* operator new(size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  tern::test::live_bytes += static_cast<long long>(::malloc_usable_size(memory));
  return memory;
}
void* operator new[](size_t bytes) { return ::operator new(bytes); }
void operator delete(void* memory) noexcept {
  if (memory != nullptr)
    tern::test::live_bytes -= static_cast<long long>(::malloc_usable_size(memory));
  std::free(memory);
}
void operator delete[](void* memory) noexcept { ::operator delete(memory); }
void operator delete(void* memory, size_t) noexcept { ::operator delete(memory); }
void operator delete[](void* memory, size_t) noexcept { ::operator delete(memory); }
