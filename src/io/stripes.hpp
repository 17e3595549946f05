// SPDX-License-Identifier: Apache-2.0
// Stripes: the distribution of a file over the storage targets of a parallel file system.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tern::io {

struct Stripes {
  int64_t bytes = 0;  // 0: unknown
  int64_t count = 0;  // storage targets; 0: unknown
};

/// Lustre's description of a file, from the attribute lustre.lov (lustre_user.h of Lustre 2.15:
/// lov_user_md_v1, lov_comp_md_v1). Of several components the last counts, which has the largest
/// part of a large file.
[[nodiscard]] Stripes lustre_stripes(const std::byte* text, size_t bytes) noexcept;

/// `block` is the file system's. Without a description, a block from 1 MiB on counts as a stripe.
[[nodiscard]] Stripes find_stripes(int fd, int64_t block) noexcept;

/// The largest number of aggregators, at most `most`, that divides the number of storage targets or
/// is a multiple of that number.
[[nodiscard]] int64_t fitting_aggregators(int64_t targets, int64_t most) noexcept;

}  // namespace tern::io
