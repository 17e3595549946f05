// SPDX-License-Identifier: Apache-2.0
// copy_bytes: memcpy for data just written or soon read by another core.
// Why: memcpy's string instructions and non-temporal stores are up to four times slower between two
// cores with a shared cache (docs/measurements/datatypes.md). Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tern {

#if defined(__SSE2__)
inline void copy_lines(std::byte* to, const std::byte* from, size_t lines) noexcept {
  for (; lines > 0; --lines, to += 64, from += 64) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 16));
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 32));
    const __m128i d = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 48));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), a);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 16), b);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 32), c);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 48), d);
  }
}
#endif

/// The pieces overlap and have equal size; `bytes` is at most 64.
inline void copy_few(std::byte* to, const std::byte* from, size_t bytes) noexcept {
  const auto both_ends = [=](auto piece) {
    auto last = piece;
    std::memcpy(&piece, from, sizeof piece);
    std::memcpy(&last, from + bytes - sizeof last, sizeof last);
    std::memcpy(to, &piece, sizeof piece);
    std::memcpy(to + bytes - sizeof last, &last, sizeof last);
  };
  struct Half {
    uint64_t words[2];
  };
  struct Whole {
    uint64_t words[4];
  };
  if (bytes >= 32) return both_ends(Whole{});
  if (bytes >= 16) return both_ends(Half{});
  if (bytes >= 8) return both_ends(uint64_t{});
  if (bytes >= 4) return both_ends(uint32_t{});
  if (bytes >= 2) return both_ends(uint16_t{});
  if (bytes == 1) *to = *from;
}

/// The blocks must not overlap. With zero bytes, pointers may be null.
inline void copy_bytes(void* to, const void* from, size_t bytes) noexcept {
  if (bytes <= 64)
    return copy_few(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
#if defined(__SSE2__)
  constexpr size_t kLeastLoop = 2112;  // below this size glibc's loop is wider
  if (bytes >= kLeastLoop) {
    auto* target = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    const size_t lines = bytes / 64;
    copy_lines(target, source, lines);
    std::memcpy(target + lines * 64, source + lines * 64, bytes % 64);
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace tern
