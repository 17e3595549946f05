// SPDX-License-Identifier: Apache-2.0
// Reduction loops for x86-64 processors with AVX2. Without fused multiply-add: results equal the
// baseline's bit by bit.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/reduce/table.hpp"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC optimize("O3", "align-loops=64")
#pragma GCC target("avx2")
#endif
#define TERN_REDUCE_TABLE kAvx2
#include "core/reduce/loops.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
