// SPDX-License-Identifier: Apache-2.0
// The table of reduction loops: one row per predefined operation, one column per Number, per
// instruction set.
// Why: MPI_Allreduce looks its loop up once; what is not allowed is a null pointer.
// Add an operation: a row here and in op.cc, its functor in loops.inc. Add an instruction set: a
// file like avx2.cc.
// See: MPI-5.0 section 6.9.2 (which operation takes which type).
#pragma once

#include <cstddef>

#include "base/number.hpp"

namespace tern::core::loops {

/// inout[i] = in[i] (op) inout[i] for `count` elements of one basic type, as they lie in memory
/// (pairs padded).
using Loop = void (*)(const void* in, void* inout, size_t count) noexcept;

using Row = Reduction;

inline constexpr int kRows = static_cast<int>(Row::kCount);
inline constexpr int kColumns = static_cast<int>(Number::kCount);
struct Table {
  Loop loops[kRows * kColumns];  // row by row
  [[nodiscard]] const Loop* row(Row which) const noexcept {
    return loops + static_cast<int>(which) * kColumns;
  }
};

extern const Table kBaseline;  // any processor of the architecture
#if defined(__x86_64__)
extern const Table kAvx2;
extern const Table kAvx512;
#endif

/// The fastest table that this processor runs.
[[nodiscard]] const Table& best_table() noexcept;

}  // namespace tern::core::loops
