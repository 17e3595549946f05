// SPDX-License-Identifier: Apache-2.0
#include "io/slow_copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "base/clock.hpp"

namespace tern::io {
namespace {

#if defined(__x86_64__)
void copy_string(std::byte* to, const std::byte* from, size_t bytes) noexcept {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

bool measure() noexcept {
  constexpr size_t kBytes = 8192, kPage = 4096, kRuns = 5;
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  const std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(kPage, 2 * kBytes + kPage)));
  if (memory == nullptr) return false;
  std::memset(memory.get(), 1, 2 * kBytes + kPage);
  const auto best = [&](size_t distance) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (size_t i = 0; i < kRuns; ++i) {
      const int64_t begin = now_ns();
      copy_string(memory.get() + kBytes + distance, memory.get(), kBytes);
      least = std::min(least, now_ns() - begin);
    }
    return least;
  };
  constexpr size_t kSlow = 16, kFast = 64;
  return best(kSlow) > 2 * best(kFast);
}
#else
bool measure() noexcept { return false; }
#endif

}  // namespace

bool has_slow_copies() noexcept {
  static const bool found = measure();
  return found;
}

}  // namespace tern::io
