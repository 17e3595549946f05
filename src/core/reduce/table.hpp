// SPDX-License-Identifier: Apache-2.0
// The table of reduction loops: a row per operation, a column per Number; forbidden pairs are null
// (MPI-5.0 section 6.9.2). Add an operation: a Reduction (base/number.hpp), a line in op.cc, a
// functor in base/arithmetic.hpp, a TERN_OPERATION line in loops.inc. Add an instruction set: a
// file like avx2.cc.
#pragma once

#include <cstddef>

#include "base/number.hpp"

namespace tern::core::loops {

/// inout[i] = in[i] (op) inout[i], in memory layout (pairs padded).
using Loop = void (*)(const void* in, void* inout, size_t count) noexcept;

using Row = Reduction;

inline constexpr int kRows = static_cast<int>(Row::kCount);
inline constexpr int kColumns = static_cast<int>(Number::kCount);
struct Table {
  Loop loops[kRows * kColumns];
  [[nodiscard]] const Loop* row(Row which) const noexcept {
    return loops + static_cast<int>(which) * kColumns;
  }
};

extern const Table kBaseline;
#if defined(__x86_64__)
extern const Table kAvx2;
extern const Table kAvx512;
#endif

[[nodiscard]] const Table& best_table() noexcept;

}  // namespace tern::core::loops
