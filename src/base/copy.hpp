// SPDX-License-Identifier: Apache-2.0
// copy_bytes: memcpy for data that another core has just written or will read next.
// Why: the C library switches to string instructions and non-temporal stores at sizes chosen for
// one process; between two cores that share a cache both lose up to four times on some machines
// (docs/measurements.md, "copying"). Threads: any.
#pragma once

#include <cstddef>
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

/// The two blocks do not overlap.
inline void copy_bytes(void* to, const void* from, size_t bytes) noexcept {
#if defined(__SSE2__)
  constexpr size_t kLeastLoop = 512;
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
