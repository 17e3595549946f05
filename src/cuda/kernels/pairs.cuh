// SPDX-License-Identifier: Apache-2.0
// Semaphores and regions of a pair of ranks for this thread block. Semaphores are binary: a signal
// sets a nonzero value, the waiter resets 0.
#pragma once

#include "cuda/kernels/arguments.hpp"
#include "cuda/kernels/device.cuh"

namespace tern::cuda {
namespace {

TERN_DEVICE int64_t pair_and_set(int32_t other, int32_t set) { return int64_t{other} * 2 + set; }

TERN_DEVICE uint32_t* data_word(const PairRegions& pairs, char* scratch, int32_t from, int32_t set,
                                int32_t message) {
  return reinterpret_cast<uint32_t*>(DEV(scratch + pairs.data_words)) +
         pair_and_set(from, set) * pairs.words_of_set + message * pairs.ctas + blockIdx.x;
}
TERN_DEVICE uint32_t* credit_word(const PairRegions& pairs, char* scratch, int32_t to,
                                  int32_t set) {
  return reinterpret_cast<uint32_t*>(DEV(scratch + pairs.credit_words)) +
         pair_and_set(to, set) * pairs.ctas + blockIdx.x;
}
TERN_DEVICE char* inbox_of(const PairRegions& pairs, char* scratch, int32_t from, int32_t set) {
  return scratch + pairs.inbox + pair_and_set(from, set) * pairs.region +
         blockIdx.x * pairs.region_each;
}

}  // namespace
}  // namespace tern::cuda
