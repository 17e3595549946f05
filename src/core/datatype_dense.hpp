// SPDX-License-Identifier: Apache-2.0
// Copies rows, and dense columns of small blocks, with the widest vectors (AVX2, AVX-512).
// Why: several blocks per instruction are up to three times faster.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tern::core::dense {

/// pack() moves leading blocks of 4 bytes, and returns their number, 0 if vectors would be no
/// faster. Vectors never read beyond the last block.
[[nodiscard]] int64_t pack(char* packed, uintptr_t at, int64_t stride, int64_t count) noexcept;
/// unpack() takes blocks of 4 or 8 bytes, and writes nothing between blocks.
[[nodiscard]] int64_t unpack(const char* packed, uintptr_t at, int64_t stride, int64_t block,
                             int64_t count) noexcept;

/// kLeast: fewer blocks do not repay the call.
inline constexpr int64_t kLeast = 48;

/// copy() is for blocks in the first caches. At some distances the C library's memcpy takes twice
/// as long.
void copy(char* to, const char* from, size_t bytes) noexcept;
inline constexpr size_t kLeastCopy = 128, kMostCopy = 65536;

}  // namespace tern::core::dense
