// SPDX-License-Identifier: Apache-2.0
// LL128, the wire for medium messages: packets of 128 bytes, 120 of data and 8 of flag, the number
// of the pass.
// Why: a single trip like LL, with 1/16 of overhead instead of 1/2. Only NVLink delivers packets
// whole (see ptx.cuh).
//
// A warp moves four packets at once, 16 bytes per thread, with 30 vectors of data. A pair of
// packets carries 15 vectors, one for each of 16 threads but the last. The eighth thread's vector
// is split between both packets, beside the flags; the last thread moves the second half.
//
// Whole warps act together: threads without a vector still move and vote, and no thread leaves its
// warp, which would wait for the vote.
// See: NCCL's LL128 protocol.
#pragma once

#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/ptx.cuh"

namespace tern::cuda {
namespace {

struct EveryLine {
  TERN_DEVICE static bool counts(int /*line*/) { return true; }
};

/// `Lines`: like EveryLine.
template <class Lines>
struct LinesWire {
  static constexpr unsigned kAll = ~0U;
  static constexpr int kWarp = 32, kVectors = 30;

  /// Flags never repeat.
  static constexpr bool kRepeats = false;
  using Flag = uint64_t;
  TERN_DEVICE static Flag flag_of(uint64_t number) { return number; }
  TERN_DEVICE static int64_t bytes_of(int64_t room) {
    return room / kVectors * kWarp * static_cast<int64_t>(sizeof(Vector));
  }
  TERN_DEVICE static bool all(bool mine) { return __all_sync(kAll, mine ? 1 : 0) != 0; }
  TERN_DEVICE static bool is_first() { return lane() == 0; }
  TERN_DEVICE static int least(int mine) {
    TERN_UNROLL
    for (int apart = kWarp / 2; apart > 0; apart /= 2) {
      const int other = __shfl_xor_sync(kAll, mine, apart);
      mine = other < mine ? other : mine;
    }
    return mine;
  }
  TERN_DEVICE static int lane() { return static_cast<int>(threadIdx.x) % kWarp; }

  /// A warp takes four packets per turn, a thread a vector.
  class Turn {
   public:
    TERN_DEVICE explicit Turn(int64_t from)
        : first_(from + int64_t{threadIdx.x / kWarp} * kVectors) {}
    [[nodiscard]] TERN_DEVICE int64_t begin() const { return first_; }
    TERN_DEVICE void next() { first_ += int64_t{blockDim.x / kWarp} * kVectors; }
    [[nodiscard]] TERN_DEVICE int64_t vector() const { return first_ + lane() - lane() / 16; }
    [[nodiscard]] TERN_DEVICE bool has_one_of(int64_t count) const {
      return lane() % 16 != 15 && vector() < count;
    }
    [[nodiscard]] TERN_DEVICE int64_t piece() const { return first_ / kVectors * kWarp + lane(); }

   private:
    int64_t first_;
  };

  using Seen = Vector;
  /// For all(): only threads with a flag return false.
  [[nodiscard]] TERN_DEVICE static bool is_whole(const Seen& seen, Flag flag) {
    const uint64_t found = seen.words[2] | static_cast<uint64_t>(seen.words[3]) << 32;
    const bool is_flag = lane() % 8 == 7 && Lines::counts(lane() / 8);
    return !is_flag || found == flag;
  }
  [[nodiscard]] TERN_DEVICE static Vector value_of(const Seen& seen) {
    Vector value = seen;
    const uint32_t half[2] = {__shfl_xor_sync(kAll, seen.words[0], 8),
                              __shfl_xor_sync(kAll, seen.words[1], 8)};
    if (lane() % 16 != 7) return value;
    value.words[2] = half[0];
    value.words[3] = half[1];
    return value;
  }

  struct Slot {
    Vector* pieces;
    TERN_DEVICE Slot(char* at, int64_t /*room*/) : pieces(reinterpret_cast<Vector*>(at)) {}

    TERN_DEVICE void put(const Turn& turn, const Vector& value, Flag flag) const {
      Vector piece = value;
      const uint32_t half[2] = {__shfl_xor_sync(kAll, value.words[2], 8),
                                __shfl_xor_sync(kAll, value.words[3], 8)};
      if (lane() % 8 == 7) {
        const bool second = lane() % 16 == 15;
        piece.words[0] = second ? half[0] : value.words[0];
        piece.words[1] = second ? half[1] : value.words[1];
        piece.words[2] = static_cast<uint32_t>(flag);
        piece.words[3] = static_cast<uint32_t>(flag >> 32);
      }
      ptx::store_line(pieces + turn.piece(), piece);
    }
    [[nodiscard]] TERN_DEVICE Seen look(const Turn& turn) const {
      return ptx::load_line(pieces + turn.piece());
    }
    /// Whether the first packet has arrived. For a single thread, without the data.
    [[nodiscard]] TERN_DEVICE bool has_begun(Flag flag) const {
      return ptx::load_relaxed_system(reinterpret_cast<const uint64_t*>(pieces + 7) + 1) == flag;
    }
  };
};

}  // namespace
}  // namespace tern::cuda
