// SPDX-License-Identifier: Apache-2.0
// Rows, and small blocks close to one another, moved by the widest vectors that the processor has
// (AVX2, AVX-512).
// Why: one load or store per small block would be the limit, not the memory; several blocks at a
// time are up to three times faster.
// Threads: any. See: core/datatype_copy.hpp (falls back to plain loops).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tern::core::dense {

/// Packs the first of `count` blocks of 4 bytes, `stride` apart, and returns how many: none where
/// it would not be faster. What is read ends with the last block.
[[nodiscard]] int64_t pack(char* packed, uintptr_t at, int64_t stride, int64_t count) noexcept;
/// Unpacks likewise, blocks of 4 or 8 bytes. Nothing but the blocks is written.
[[nodiscard]] int64_t unpack(const char* packed, uintptr_t at, int64_t stride, int64_t block,
                             int64_t count) noexcept;

/// Fewer are not worth the call.
inline constexpr int64_t kLeast = 48;

/// One block of those that fit the first caches. The C library's way of copying is chosen for other
/// ends: for some distances between the two it takes twice as long.
void copy(char* to, const char* from, size_t bytes) noexcept;
inline constexpr size_t kLeastCopy = 128, kMostCopy = 65536;

}  // namespace tern::core::dense
