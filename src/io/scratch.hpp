// SPDX-License-Identifier: Apache-2.0
// scratch: a thread's buffers for packed data, kept between calls.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace tern::io {

inline constexpr size_t kScratchBytes = 512 * 1024;

/// Two buffers per thread, since a transfer between a sparse buffer and a sparse file needs both.
/// Returns null without memory.
[[nodiscard]] inline std::byte* scratch(size_t which) noexcept {
  thread_local std::unique_ptr<std::byte[]> buffers[2];
  std::unique_ptr<std::byte[]>& buffer = buffers[which];
  if (buffer == nullptr) buffer.reset(new (std::nothrow) std::byte[kScratchBytes]);
  return buffer.get();
}

}  // namespace tern::io
