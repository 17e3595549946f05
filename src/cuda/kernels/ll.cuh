// SPDX-License-Identifier: Apache-2.0
// LL, the wire for small messages: packets of 8 bytes, 4 of data and 4 of flag. The flag names the
// pass. Packets are stored and loaded whole, so the flag vouches for the data over any link,
// without a fence: a hop takes a single trip. 16 bytes of data are four packets, stored a slot's
// room apart, so that the threads of a warp access adjacent packets. Sources: PTX's memory model
// (aligned accesses of 8 bytes do not tear); NCCL's LL protocol.
#pragma once

#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/ptx.cuh"

namespace tern::cuda {
namespace {

inline constexpr int kLlWords = 4;
inline constexpr int64_t kLlBytes = kLlWords * sizeof(uint64_t);

struct EveryFlag {
  TERN_DEVICE static bool all(const uint32_t (&flags)[kLlWords], uint32_t wanted) {
    bool are = true;
    TERN_UNROLL
    for (int j = 0; j < kLlWords; ++j) are &= flags[j] == wanted;
    return are;
  }
};

/// `Flags`: like EveryFlag.
template <class Flags>
struct LlWire {
  /// Flags repeat after 2^32 passes and are never 0.
  static constexpr bool kRepeats = true;
  using Flag = uint32_t;
  TERN_DEVICE static Flag flag_of(uint64_t number) {
    return static_cast<uint32_t>(number % ~uint32_t{0}) + 1;
  }
  TERN_DEVICE static int64_t bytes_of(int64_t room) { return room * kLlBytes; }
  TERN_DEVICE static bool all(bool mine) { return mine; }
  TERN_DEVICE static bool is_first() { return true; }
  TERN_DEVICE static int least(int mine) { return mine; }

  class Turn {
   public:
    TERN_DEVICE explicit Turn(int64_t from) : vector_(from + threadIdx.x) {}
    [[nodiscard]] TERN_DEVICE int64_t begin() const { return vector_; }
    TERN_DEVICE void next() { vector_ += blockDim.x; }
    [[nodiscard]] TERN_DEVICE int64_t vector() const { return vector_; }
    [[nodiscard]] TERN_DEVICE static bool has_one_of(int64_t /*count*/) { return true; }

   private:
    int64_t vector_;
  };

  struct Seen {
    uint64_t words[kLlWords];
  };
  [[nodiscard]] TERN_DEVICE static bool is_whole(const Seen& seen, Flag flag) {
    uint32_t flags[kLlWords];
    TERN_UNROLL
    for (int j = 0; j < kLlWords; ++j) flags[j] = static_cast<uint32_t>(seen.words[j] >> 32);
    return Flags::all(flags, flag);
  }
  [[nodiscard]] TERN_DEVICE static Vector value_of(const Seen& seen) {
    Vector value;
    TERN_UNROLL
    for (int j = 0; j < kLlWords; ++j) value.words[j] = static_cast<uint32_t>(seen.words[j]);
    return value;
  }

  struct Slot {
    uint64_t* words;
    int64_t room;
    TERN_DEVICE Slot(char* at, int64_t vectors)
        : words(reinterpret_cast<uint64_t*>(at)), room(vectors) {}

    TERN_DEVICE void put(const Turn& turn, const Vector& value, Flag flag) const {
      TERN_UNROLL
      for (int j = 0; j < kLlWords; ++j)
        ptx::store_relaxed_system(words + j * room + turn.vector(),
                                  value.words[j] | static_cast<uint64_t>(flag) << 32);
    }
    [[nodiscard]] TERN_DEVICE Seen look(const Turn& turn) const { return look(turn.vector()); }
    [[nodiscard]] TERN_DEVICE Seen look(int64_t i) const {
      Seen seen;
      TERN_UNROLL
      for (int j = 0; j < kLlWords; ++j)
        seen.words[j] = ptx::load_relaxed_system(words + j * room + i);
      return seen;
    }
    [[nodiscard]] TERN_DEVICE bool has_begun(Flag flag) const {
      return is_whole(look(int64_t{0}), flag);
    }
  };
};

}  // namespace
}  // namespace tern::cuda
