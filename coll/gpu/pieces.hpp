// SPDX-License-Identifier: Apache-2.0
// Pieces: cuts an operation into passes for a team's scratch, and locates the slices of a lowered
// schedule in each pass.
// Units: a pass takes equally many bytes of each block on all ranks, in whole elements for
// reductions. Sizes count packed bytes, so ranks may use different datatypes. Saved input
// ("aside"): in place, alltoall and reduce_scatter overwrite input before sending, so each pass
// first copies that input to local memory. Reductions of host memory do the same, and copy the
// result back after the pass.
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
  [[nodiscard]] static const char* why_not(const Operation& operation) noexcept;

  /// `least` passes fill a pipeline; little data takes fewer passes.
  Pieces(const Operation& operation, const Placed& placed, const ScratchLayout& layout,
         MPI_Count least) noexcept
      : Pieces(operation, placed,
               {layout.region(), layout.lane_local_bytes(), ScratchLayout::kGrain, least, 65536,
                false}) {}
  struct Room {
    size_t region, local;
    size_t grain;
    MPI_Count least, least_pass;  // least number of passes, with at least `least_pass` bytes each
    bool sides;                   // local memory holds input and output of any operation
  };
  Pieces(const Operation& operation, const Placed& placed, const Room& room) noexcept;
  /// Engines that cut passes themselves take a single pass of any size.
  static constexpr Room in_one_pass() noexcept {
    return {size_t{1} << 48, size_t{1} << 48, ScratchLayout::kKernelGrain, 1, 1, true};
  }

  [[nodiscard]] MPI_Count passes() const noexcept { return passes_; }
  [[nodiscard]] bool fit() const noexcept { return passes_ > 0 || total_ == 0; }
  /// element(): bytes of a unit. total(): units of the vector or largest block. length(): units per
  /// pass. unit(): bytes per part in the scratch. aside(): local parts per side.
  [[nodiscard]] MPI_Count element() const noexcept { return element_; }
  [[nodiscard]] MPI_Count total() const noexcept { return total_; }
  [[nodiscard]] MPI_Count length() const noexcept { return length_; }
  [[nodiscard]] size_t unit() const noexcept { return unit_; }
  [[nodiscard]] int32_t aside(Space space) const noexcept {
    return space == Space::kInput ? aside_in_ : aside_out_;
  }
  [[nodiscard]] MPI_Count block_units(int32_t block) const noexcept;
  [[nodiscard]] size_t bytes(const Slice& slice, MPI_Count pass) const noexcept;
  struct DataPiece {
    core::Data data;
    size_t offset, bytes;
    [[nodiscard]] std::byte* first() const noexcept { return data.first() + offset; }
  };
  /// piece() locates an output slice, or an input slice that is not saved.
  [[nodiscard]] DataPiece piece(const Slice& slice, MPI_Count pass) const noexcept;
  /// users() locates a block or the whole vector. Input to be saved is read from the output.
  [[nodiscard]] DataPiece users(Space space, int32_t block, MPI_Count pass) const noexcept;
  [[nodiscard]] int32_t blocks_of(Space space) const noexcept {
    return splits_ || is_alone(space) ? 1 : schedule_.ranks;
  }
  [[nodiscard]] bool is_alone(Space space) const noexcept;
  [[nodiscard]] size_t in_local(const Slice& slice, MPI_Count pass) const noexcept;
  [[nodiscard]] size_t in_region(int32_t blocks) const noexcept {
    return static_cast<size_t>(blocks) * unit_;
  }
  /// is_aside() is true if local memory replaces the side during a pass.
  [[nodiscard]] bool is_aside(Space space) const noexcept {
    return space == Space::kInput ? input_aside_ : output_aside_;
  }
  struct Aside {
    DataPiece users;
    size_t local;
  };
  [[nodiscard]] int32_t puts_aside() const noexcept {
    return !input_aside_ ? 0 : splits_ ? 1 : schedule_.ranks;
  }
  [[nodiscard]] Aside put_aside(int32_t block, MPI_Count pass) const noexcept;
  /// in_order() is true if passes must not overlap: in place, irregular blocks are overwritten
  /// before a later pass saves them.
  [[nodiscard]] bool in_order() const noexcept {
    return operation_.collective == Collective::kReduceScatter && operation_.irregular &&
           puts_aside() > 0;
  }
  /// between_layouts() is local memory for conversion between two layouts with holes.
  [[nodiscard]] size_t between_layouts() const noexcept {
    return in_local(whole(Space::kOutput, 0), 0);
  }
  [[nodiscard]] Aside bring_back(MPI_Count pass) const noexcept;

 private:
  [[nodiscard]] ElementRange range_of(const Slice& slice, MPI_Count pass) const noexcept;
  [[nodiscard]] ElementRange in_vector(const Slice& slice, MPI_Count pass) const noexcept;
  [[nodiscard]] MPI_Count length_of(const Side& side, int32_t block) const noexcept;
  [[nodiscard]] DataPiece in_block(const Side& side, int32_t block, bool alone,
                                   const ElementRange& range) const noexcept;
  [[nodiscard]] MPI_Count total_units() const noexcept;
  void find_asides(bool sides) noexcept;
  /// whole() is a block, or the vector (block 0).
  [[nodiscard]] Slice whole(Space space, int32_t block) const noexcept {
    return {space, block * schedule_.parts, schedule_.parts, block * schedule_.parts};
  }

  const Operation& operation_;
  const Schedule& schedule_;
  const bool splits_;
  MPI_Count element_ = 1;
  size_t unit_ = 0;  // most bytes of a part per pass
  MPI_Count length_ = 0;
  MPI_Count total_ = 0;
  MPI_Count passes_ = 0;
  int32_t aside_in_ = 0, aside_out_ = 0;
  bool input_aside_ = false, output_aside_ = false;
};

}  // namespace tern::coll
