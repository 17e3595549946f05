// SPDX-License-Identifier: Apache-2.0
// scratch: a thread's buffers, kept between calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace tern::io {

inline constexpr size_t kScratchBytes = 512 * 1024, kScratchAlignment = 4096;

/// kRange holds bytes of a file with the bytes between blocks; kPacked holds packed data; kCopy
/// holds data whose direct copy is slow (slow_copy.hpp); kDirect holds data for O_DIRECT, and has
/// the alignment.
enum class Scratch : uint8_t { kRange, kPacked, kCopy, kDirect };

/// Returns the buffer for bytes from file offset `at` on, or null without memory. The distance
/// between buffer and file, modulo pages, suits all processors' copies.
[[nodiscard]] inline std::byte* scratch(Scratch which, int64_t at = 0) noexcept {
  constexpr size_t kDistance = 64;
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  thread_local std::unique_ptr<std::byte, Free> buffers[4];
  std::unique_ptr<std::byte, Free>& buffer = buffers[static_cast<size_t>(which)];
  if (buffer == nullptr)
    buffer.reset(static_cast<std::byte*>(
        std::aligned_alloc(kScratchAlignment, kScratchBytes + kScratchAlignment)));
  if (buffer == nullptr || which == Scratch::kDirect) return buffer.get();
  return buffer.get() + ((static_cast<uint64_t>(at) + kDistance) & (kScratchAlignment - 1));
}

}  // namespace tern::io
