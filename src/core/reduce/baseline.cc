// SPDX-License-Identifier: Apache-2.0
// Reduction loops for any processor (x86-64: SSE2), and the choice of a table.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "align-loops=64")
#endif
#define TERN_REDUCE_TABLE kBaseline
#include "core/reduce/loops.inc"

namespace tern::core::loops {

#if defined(__x86_64__)
namespace {

/// The table takes products of complex numbers from AVX2, because GCC fuses them even with
/// contraction off.
Table wide_table() noexcept {
  Table table = kAvx512;
  const auto prod = static_cast<int>(Row::kProd) * kColumns;
  constexpr auto kFirst = static_cast<int>(Number::kComplexHalf);
  for (int number = kFirst; number <= static_cast<int>(Number::kComplexQuad); ++number)
    table.loops[prod + number] = kAvx2.loops[prod + number];
  return table;
}

}  // namespace
#endif

const Table& best_table() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vbmi2")) {
    static const Table wide = wide_table();
    return wide;
  }
  if (__builtin_cpu_supports("avx2")) return kAvx2;
#endif
  return kBaseline;
}

}  // namespace tern::core::loops
