// SPDX-License-Identifier: Apache-2.0
// Geometry: maps symbolic slices to elements of buffers, in constant time. Units: an area counts
// elements of the caller's type; dense data travels as bytes, `scale` per element. Passes and parts
// cut blocks of moved data at bytes, so the data must be dense, and blocks of reductions at
// elements. A Geometry lives for one execution, which owns the arrays of counts and displacements.
#pragma once

#include <cstddef>

#include "coll/engine/operation.hpp"
#include "coll/schedule/schedule.hpp"
#include "pml/pml.hpp"

namespace tern::coll {

inline constexpr size_t kLine = 64;
constexpr size_t round_up(size_t bytes) noexcept { return (bytes + kLine - 1) / kLine * kLine; }

struct Area {
  std::byte* base = nullptr;
  core::Datatype* type = nullptr;
  MPI_Aint extent = 1;
  MPI_Count scale = 1;                // units of `type` per element
  MPI_Count block = 0;                // elements per block, or of a split vector
  const MPI_Count* counts = nullptr;  // elements per block, if blocks differ
  const MPI_Aint* displs = nullptr;
  /// With `types`, displs count bytes, and each slice is a single block.
  core::Datatype* const* types = nullptr;
  cuda::MemoryKind kind = cuda::MemoryKind::kUnknown;
};

struct ScratchNeed {
  size_t stage_slot = 0, mirror = 0;  // bytes
  ptrdiff_t first_element = 0;        // offset of element 0
  [[nodiscard]] size_t bytes(const Schedule& schedule) const noexcept;
};

class Geometry {
 public:
  /// Passes of blocks or a vector like `like`, each with about `chunk` bytes of a part; 0: one
  /// pass. With blocks, more than one pass requires slices within_block().
  [[nodiscard]] static MPI_Count passes_of(const Schedule& schedule, const Area& like,
                                           size_t chunk) noexcept;
  /// `like`: type and extent of scratch elements, and block sizes.
  void bind(const Schedule& schedule, const Area& input, const Area& output, const Area& like,
            size_t chunk) noexcept;

  void set_scratch_kind(cuda::MemoryKind kind) noexcept { scratch_kind_ = kind; }

  [[nodiscard]] MPI_Count passes() const noexcept { return passes_; }
  [[nodiscard]] const ScratchNeed& scratch() const noexcept { return need_; }
  [[nodiscard]] pml::Buffer at(const Slice& slice, MPI_Count pass,
                               std::byte* scratch) const noexcept;

 private:
  [[nodiscard]] ElementRange split_range(const Slice& slice, MPI_Count pass) const noexcept;
  [[nodiscard]] static ElementRange block_range(const Area& area, const Slice& slice) noexcept;
  struct CutSlice {
    int32_t block;
    ElementRange range;  // units of the area's type, from the block's first
  };
  [[nodiscard]] TERN_COLD pml::Buffer cut_at(const Area& area, const Slice& slice, MPI_Count pass,
                                             std::byte* scratch) const noexcept;
  [[nodiscard]] CutSlice cut(const Area& area, const Slice& slice, MPI_Count pass) const noexcept;
  [[nodiscard]] ElementRange cut_block(const Area& area, int32_t part,
                                       MPI_Count pass) const noexcept;
  [[nodiscard]] ptrdiff_t place_in_mirror(const Slice& slice, MPI_Count pass) const noexcept;
  [[nodiscard]] MPI_Count length_of(MPI_Count pass) const noexcept;
  [[nodiscard]] MPI_Count scratch_count(const Slice& slice) const noexcept;
  [[nodiscard]] MPI_Count blocks_before(int32_t block) const noexcept;
  [[nodiscard]] pml::Buffer in_scratch(const Slice& slice, MPI_Count count, MPI_Count pass,
                                       std::byte* scratch) const noexcept;
  void size_scratch() noexcept;

  const Schedule* schedule_ = nullptr;
  Area input_, output_, like_;
  bool splits_ = false;
  bool cuts_ = false;          // blocks, by parts or passes
  MPI_Count pass_length_ = 0;  // elements per pass, of a vector or the largest block
  MPI_Count passes_ = 1;
  ScratchNeed need_;
  cuda::MemoryKind scratch_kind_ = cuda::MemoryKind::kHost;
};

}  // namespace tern::coll
