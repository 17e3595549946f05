// SPDX-License-Identifier: Apache-2.0
// Reduction loops for x86-64 processors with second-generation AVX-512 (VBMI2: Ice Lake, Zen 4),
// which keep their clock rate. Without fused multiply-add: results equal the baseline's.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/reduce/table.hpp"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang fp contract(off)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))), \
                             apply_to = function)
#pragma clang attribute push(__attribute__((min_vector_width(512))), apply_to = function)
#else
#pragma GCC optimize("O3", "align-loops=64")
#pragma GCC optimize("fp-contract=off")
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#define TERN_REDUCE_TABLE kAvx512
#include "core/reduce/loops.inc"
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute pop
#endif
#endif
