// SPDX-License-Identifier: Apache-2.0
// LL, the wire of small messages: words of 8 bytes, 4 of data and 4 of a flag, which says for which
// pass the data is. A word is stored and loaded at once as a whole, so its flag vouches for its
// data over any link, and no fence is needed: one hop is one trip of the data.
//
// 16 bytes of data are four words. Those of the vectors of a slot lie apart by the room of the
// slot, so that the threads of a warp store and load words that adjoin. See: PTX's memory model
// (accesses of 8 bytes at a multiple of 8 are not torn); NCCL's protocol of that name;
// tests/unit/cuda/push_kernel_test.cc.
#pragma once

#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/ptx.cuh"

namespace tern::cuda {
namespace {

inline constexpr int kLlWords = 4;  // of 16 bytes of data
inline constexpr int64_t kLlBytes = kLlWords * sizeof(uint64_t);

/// Each word's flag counts.
struct EveryFlag {
  TERN_DEVICE static bool all(const uint32_t (&flags)[kLlWords], uint32_t wanted) {
    bool are = true;
    TERN_UNROLL
    for (int j = 0; j < kLlWords; ++j) are &= flags[j] == wanted;
    return are;
  }
};

/// Of a slot with room for so many vectors. `Flags`: as EveryFlag.
template <class Flags>
struct LlSlot {
  uint64_t* words;
  int64_t room;

  TERN_DEVICE void put(int64_t i, const Vector& value, uint32_t flag) const {
    TERN_UNROLL
    for (int j = 0; j < kLlWords; ++j)
      ptx::store_relaxed_system(words + j * room + i, value.words[j] | static_cast<uint64_t>(flag)
                                                                           << 32);
  }
  /// False: it has not all come.
  [[nodiscard]] TERN_DEVICE bool get(int64_t i, uint32_t flag, Vector* value) const {
    uint64_t found[kLlWords];
    uint32_t flags[kLlWords];
    TERN_UNROLL
    for (int j = 0; j < kLlWords; ++j) found[j] = ptx::load_relaxed_system(words + j * room + i);
    TERN_UNROLL
    for (int j = 0; j < kLlWords; ++j) {
      value->words[j] = static_cast<uint32_t>(found[j]);
      flags[j] = static_cast<uint32_t>(found[j] >> 32);
    }
    return Flags::all(flags, flag);
  }
};

}  // namespace
}  // namespace tern::cuda
