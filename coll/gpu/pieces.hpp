// SPDX-License-Identifier: Apache-2.0
// Pieces: how an operation is cut into passes that the scratch of a team holds, and where the
// slices of a lowered schedule lie in each of them. Units: a pass takes the same number of bytes of
// each block (whole elements where they are reduced) on all ranks. What is moved counts bytes of
// the packed form, so that ranks may describe it by different types; what is reduced has no holes.
// Under MPI_IN_PLACE what would be overwritten before it is sent (alltoall, reduce_scatter) is put
// aside first, for one pass at a time.
// Lifetime: of one call. See: coll/gpu/placed.hpp, coll/gpu/stream_run.hpp;
// tests/unit/coll/pieces_test.cc.
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
         MPI_Count least) noexcept;

  /// None where there is no data.
  [[nodiscard]] MPI_Count passes() const noexcept { return passes_; }
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
  /// Where a slice of a stage or mirror, or of an input that is aside, lies in the local memory.
  [[nodiscard]] size_t in_local(const Slice& slice, MPI_Count pass) const noexcept;
  /// Where the messages of a region that follow so many blocks begin.
  [[nodiscard]] size_t in_region(int32_t blocks) const noexcept {
    return static_cast<size_t>(blocks) * unit_;
  }
  /// Blocks of the input that are put aside in each pass; 0: none are.
  [[nodiscard]] int32_t aside() const noexcept { return aside_; }
  /// The caller's own such block: from there it goes aside.
  [[nodiscard]] Piece before_aside(int32_t block, MPI_Count pass) const noexcept;

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

  const Operation& operation_;
  const Schedule& schedule_;
  const bool splits_;
  MPI_Count element_ = 1;  // bytes of a unit
  size_t unit_ = 0;        // bytes that a block has at most in a pass, and room for it
  MPI_Count length_ = 0;   // units of the vector, or of a block, in one pass
  MPI_Count total_ = 0;
  MPI_Count passes_ = 0;
  int32_t aside_ = 0;
};

}  // namespace tern::coll
