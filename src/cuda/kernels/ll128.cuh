// SPDX-License-Identifier: Apache-2.0
// LL128, the wire of what is not so small any more: lines of 128 bytes, 120 of data and 8 of a
// flag, which is the number of the pass. Why: one trip, as with LL, and a sixteenth of what is
// moved is flags instead of half. Only where a line arrives as a whole: over NVLink (ptx.cuh says
// why).
//
// A warp moves four lines at once, 16 bytes by each thread, with 30 vectors of 16 bytes. Two lines
// have 15 of them: those of the 16 threads but the last. The eighth thread's vector lies in both
// lines, half beside each flag; the last thread stores and loads its second half.
//
// So whole warps do everything together: who has no vector moves and votes all the same, and a
// thread never leaves a warp alone, which would wait for its vote. See: LL128 of NCCL;
// tests/unit/cuda/push_lines_test.cc.
#pragma once

#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/ptx.cuh"

namespace tern::cuda {
namespace {

/// Each line's flag counts.
struct EveryLine {
  TERN_DEVICE static bool counts(int /*line*/) { return true; }
};

/// `Lines`: as EveryLine.
template <class Lines>
struct LinesWire {
  static constexpr unsigned kAll = ~0U;
  static constexpr int kWarp = 32, kVectors = 30;  // that a warp moves at once

  /// No flag comes twice.
  static constexpr bool kRepeats = false;
  using Flag = uint64_t;
  TERN_DEVICE static Flag flag_of(uint64_t number) { return number; }
  /// Of a slot with room for so many vectors, a multiple of kVectors.
  TERN_DEVICE static int64_t bytes_of(int64_t room) {
    return room / kVectors * kWarp * static_cast<int64_t>(sizeof(Vector));
  }
  /// Whether it is so for all threads of the warp.
  TERN_DEVICE static bool all(bool mine) { return __all_sync(kAll, mine ? 1 : 0) != 0; }
  TERN_DEVICE static bool is_first() { return lane() == 0; }
  TERN_DEVICE static int lane() { return static_cast<int>(threadIdx.x) % kWarp; }

  /// The turns in which a warp takes vectors, four lines in each, and a thread's vector of a turn.
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
    int64_t first_;  // a multiple of kVectors
  };

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
    /// False, for all threads of the warp: the lines have not all come.
    [[nodiscard]] TERN_DEVICE bool get(const Turn& turn, Flag flag, Vector* value) const {
      const Vector piece = ptx::load_line(pieces + turn.piece());
      const uint64_t found = piece.words[2] | static_cast<uint64_t>(piece.words[3]) << 32;
      const bool is_flag = lane() % 8 == 7 && Lines::counts(lane() / 8);
      if (!all(!is_flag || found == flag)) return false;
      *value = piece;
      const uint32_t half[2] = {__shfl_xor_sync(kAll, piece.words[0], 8),
                                __shfl_xor_sync(kAll, piece.words[1], 8)};
      if (lane() % 16 != 7) return true;
      value->words[2] = half[0];
      value->words[3] = half[1];
      return true;
    }
    /// Whether the first line has come: by one thread, which has no use for its data.
    [[nodiscard]] TERN_DEVICE bool has_begun(Flag flag) const {
      return ptx::load_relaxed_system(reinterpret_cast<const uint64_t*>(pieces + 7) + 1) == flag;
    }
  };
};

}  // namespace
}  // namespace tern::cuda
