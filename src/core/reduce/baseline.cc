// SPDX-License-Identifier: Apache-2.0
// Reduction loops for any processor of the architecture (on x86-64: SSE2), and the choice between
// the tables.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif
#define TERN_REDUCE_TABLE kBaseline
#include "core/reduce/loops.inc"

namespace tern::core::loops {

const Table& best_table() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return kAvx2;
#endif
  return kBaseline;
}

}  // namespace tern::core::loops
