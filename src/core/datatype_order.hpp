// SPDX-License-Identifier: Apache-2.0
// Order: facts about the displacements of a layout, and the way back from a displacement to a
// packed byte. Why: files need rising displacements (MPI-5.0 section 14.3), and collective
// transfers cut the file, not the packed data.
#pragma once

#include <cstdint>

#include "core/datatype_layout.hpp"

namespace tern::core {

struct LayoutOrder {
  bool falls = false;     // a block begins before the begin of an earlier block
  bool overlaps = false;  // a block begins before the end of an earlier block
  int64_t blocks = 0;     // of one element; neighbours count as one block
  uint64_t bits = 0;      // all displacements and lengths, combined by or

  /// Each block ends before the next block begins: packed_before() is defined.
  [[nodiscard]] bool rises() const noexcept { return !falls && !overlaps; }
};

/// Cost: linear in the numbers that the layout holds.
[[nodiscard]] LayoutOrder order_of(const PlacedLayout& layout) noexcept;

/// The order of many copies of the layout, `extent` bytes apart.
[[nodiscard]] LayoutOrder order_of_copies(const PlacedLayout& layout, int64_t extent) noexcept;

/// The packed bytes in front of displacement `at`. The layout rises.
[[nodiscard]] int64_t packed_before(const PlacedLayout& layout, int64_t at) noexcept;

}  // namespace tern::core
