// SPDX-License-Identifier: Apache-2.0
// slow_copy: whether the kernel's copy between a file and a buffer is slow.
// Why: on some processors (AMD Zen 3 and 4) a string copy is five to eight times slower if the
// target lies 1 to 31 bytes behind the source, modulo 4096. Large buffers of malloc begin 16 bytes
// behind a page, so every read of whole pages into them is slow.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tern::io {

inline constexpr size_t kLeastSlowCopy = 1024;

/// Whether string copies between such places are slow here; measured once, in some 30 us.
[[nodiscard]] bool has_slow_copies() noexcept;

[[nodiscard]] inline bool slow_copy(uint64_t to, uint64_t from, size_t bytes) noexcept {
  const uint64_t distance = (to - from) & 4095;
  return bytes >= kLeastSlowCopy && distance - 1 < 31 && has_slow_copies();
}

}  // namespace tern::io
