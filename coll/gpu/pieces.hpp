// SPDX-License-Identifier: Apache-2.0
// Pieces: how an operation is cut into passes that the scratch of a team holds, and where the
// slices of a lowered schedule lie in each of them. Units: a pass takes the same number of bytes of
// each block (whole elements where they are reduced) on all ranks. What is moved counts bytes of
// the packed form, so that ranks may describe it by different types; what is reduced has no holes.
// Under MPI_IN_PLACE what would be overwritten before it is sent (alltoall, reduce_scatter) is put
// aside first, for one pass at a time. So is what is reduced where it lies in host memory, which
// kernels need not reach; its result comes back behind the pass.
// Lifetime: of one call. See: coll/gpu/placed.hpp, coll/gpu/stream_run.hpp;
// tests/gpu/mpi/stream_passes.cc.
#pragma once

#include <cstddef>
#include <string>

#include "coll/engine/operation.hpp"
#include "coll/gpu/layout.hpp"
#include "coll/gpu/placed.hpp"
#include "core/device_copy.hpp"

namespace tern::coll {

class Pieces {
 public:
  /// Why an operation cannot be done so, alike on all ranks; null: it can.
  [[nodiscard]] static const char* why_not(const Operation& operation) noexcept;

  /// `least`: passes that follow each other through a pipeline; fewer where there is little data.
  Pieces(const Operation& operation, const Placed& placed, const ScratchLayout& layout,
         MPI_Count least) noexcept
      : Pieces(operation, placed,
               {layout.region(), layout.lane_local_bytes(), ScratchLayout::kGrain, least, 65536,
                false}) {}
  /// What one pass may take.
  struct Room {
    size_t region, local;
    size_t grain;                 // borders of blocks
    MPI_Count least, least_pass;  // passes, unless they had fewer bytes than that
    bool sides;                   // there is local memory for input and output of any operation
  };
  Pieces(const Operation& operation, const Placed& placed, const Room& room) noexcept;
  /// For who cuts by himself: one pass, of anything.
  static constexpr Room in_one_pass() noexcept {
    return {size_t{1} << 48, size_t{1} << 48, ScratchLayout::kKernelGrain, 1, 1, true};
  }

  /// None where there is no data.
  [[nodiscard]] MPI_Count passes() const noexcept { return passes_; }
  /// Whether the room was enough.
  [[nodiscard]] bool fit() const noexcept { return passes_ > 0 || total_ == 0; }
  /// Bytes of a unit; units of the vector or of the largest block, in all and in a pass; bytes that
  /// a block has in the scratch; blocks of local memory for each side.
  [[nodiscard]] MPI_Count element() const noexcept { return element_; }
  [[nodiscard]] MPI_Count total() const noexcept { return total_; }
  [[nodiscard]] MPI_Count length() const noexcept { return length_; }
  [[nodiscard]] size_t unit() const noexcept { return unit_; }
  [[nodiscard]] int32_t aside(Space space) const noexcept {
    return space == Space::kInput ? aside_in_ : aside_out_;
  }
  /// Units of a block; none is larger than total().
  [[nodiscard]] MPI_Count block_units(int32_t block) const noexcept;
  /// Bytes that a slice has in a pass.
  [[nodiscard]] size_t bytes(const Slice& slice, MPI_Count pass) const noexcept;
  /// The packed bytes [offset, offset + bytes) of data of the caller's.
  struct Piece {
    core::Data data;
    size_t offset, bytes;
    [[nodiscard]] std::byte* first() const noexcept { return data.first() + offset; }
  };
  /// Of a slice of input or output; of the input only where it is not aside.
  [[nodiscard]] Piece piece(const Slice& slice, MPI_Count pass) const noexcept;
  /// The caller's data of a block, or of the whole vector; what would be overwritten before it has
  /// been sent is read from the output.
  [[nodiscard]] Piece users(Space space, int32_t block, MPI_Count pass) const noexcept;
  /// How many a side of this rank's has.
  [[nodiscard]] int32_t blocks_of(Space space) const noexcept {
    return splits_ || is_alone(space) ? 1 : schedule_.ranks;
  }
  /// A side is this rank's block.
  [[nodiscard]] bool is_alone(Space space) const noexcept;
  /// Where a slice of a stage or mirror, or of an input that is aside, lies in the local memory.
  [[nodiscard]] size_t in_local(const Slice& slice, MPI_Count pass) const noexcept;
  /// Where the messages of a region that follow so many blocks begin.
  [[nodiscard]] size_t in_region(int32_t blocks) const noexcept {
    return static_cast<size_t>(blocks) * unit_;
  }
  /// Whether a side lies in the local memory during a pass.
  [[nodiscard]] bool is_aside(Space space) const noexcept {
    return space == Space::kInput ? input_aside_ : output_aside_;
  }
  /// A copy between the caller's memory and the local memory.
  struct Aside {
    Piece users;
    size_t local;
  };
  /// How many precede a pass, and which.
  [[nodiscard]] int32_t puts_aside() const noexcept {
    return !input_aside_ ? 0 : splits_ ? 1 : schedule_.ranks;
  }
  [[nodiscard]] Aside put_aside(int32_t block, MPI_Count pass) const noexcept;
  /// Whether passes must follow each other: in place with blocks of many sizes, one writes what a
  /// later one still puts aside.
  [[nodiscard]] bool in_order() const noexcept {
    return operation_.collective == Collective::kReduceScatter && operation_.irregular &&
           puts_aside() > 0;
  }
  /// Where a block lies for a while that goes from one layout with holes to another.
  [[nodiscard]] size_t between_layouts() const noexcept { return in_local(whole(), 0); }
  /// Of the result, behind a pass.
  [[nodiscard]] Aside bring_back(MPI_Count pass) const noexcept;

 private:
  struct Range {
    MPI_Count first, count;  // units: elements or bytes
  };
  [[nodiscard]] Range range_of(const Slice& slice, MPI_Count pass) const noexcept;
  [[nodiscard]] Range in_vector(const Slice& slice, MPI_Count pass) const noexcept;
  [[nodiscard]] MPI_Count length_of(const Side& side, int32_t block) const noexcept;
  [[nodiscard]] Piece in_block(const Side& side, int32_t block, bool alone,
                               const Range& range) const noexcept;
  [[nodiscard]] MPI_Count total_units() const noexcept;
  void find_asides(bool sides) noexcept;
  [[nodiscard]] Slice whole() const noexcept {
    return {Space::kOutput, 0, splits_ ? schedule_.parts : 1, 0};
  }

  const Operation& operation_;
  const Schedule& schedule_;
  const bool splits_;
  MPI_Count element_ = 1;  // bytes of a unit
  size_t unit_ = 0;        // bytes that a block has at most in a pass, and room for it
  MPI_Count length_ = 0;   // units of the vector, or of a block, in one pass
  MPI_Count total_ = 0;
  MPI_Count passes_ = 0;
  int32_t aside_in_ = 0, aside_out_ = 0;  // blocks that the local memory has for them
  bool input_aside_ = false, output_aside_ = false;
};

}  // namespace tern::coll
