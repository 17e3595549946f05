// SPDX-License-Identifier: Apache-2.0
// Where the words and regions of a pair of ranks lie for the present block of threads, in the
// scratch of the one that owns them. Words are binary: a signal makes one other than 0, who waits
// makes it 0 again.
#pragma once

#include "cuda/kernels/arguments.hpp"
#include "cuda/kernels/device.cuh"

namespace tern::cuda {
namespace {

TERN_DEVICE int64_t pair_and_set(int32_t other, int32_t set) { return int64_t{other} * 2 + set; }

/// Of a message from `from`; `scratch`: the receiver's.
TERN_DEVICE uint32_t* data_word(const PairRegions& pairs, char* scratch, int32_t from, int32_t set,
                                int32_t message) {
  return reinterpret_cast<uint32_t*>(DEV(scratch + pairs.data_words)) +
         pair_and_set(from, set) * pairs.words_of_set + message * pairs.ctas + blockIdx.x;
}
/// That the region at `to` may be written again; `scratch`: of who writes.
TERN_DEVICE uint32_t* credit_word(const PairRegions& pairs, char* scratch, int32_t to,
                                  int32_t set) {
  return reinterpret_cast<uint32_t*>(DEV(scratch + pairs.credit_words)) +
         pair_and_set(to, set) * pairs.ctas + blockIdx.x;
}
/// What `from` writes to; `scratch`: the receiver's.
TERN_DEVICE char* inbox_of(const PairRegions& pairs, char* scratch, int32_t from, int32_t set) {
  return scratch + pairs.inbox + pair_and_set(from, set) * pairs.region +
         blockIdx.x * pairs.region_each;
}

}  // namespace
}  // namespace tern::cuda
