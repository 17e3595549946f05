// SPDX-License-Identifier: Apache-2.0
// Geometry: from a schedule's symbolic slices to elements of one operation's buffers.
// Why: schedules know block numbers alone; everything about counts, types and displacements is
// here, computed when a step runs, in constant time. Units: an area counts elements of the caller's
// type; dense data travels as bytes (`scale` of them an element). Lifetime: of one execution; the
// arrays it points to belong to the execution. See: tests/unit/coll/geometry_test.cc.
#pragma once

#include <cstddef>

#include "coll/engine/operation.hpp"
#include "coll/schedule/schedule.hpp"
#include "pml/pml.hpp"

namespace tern::coll {

/// What lies side by side begins on a cache line of its own.
inline constexpr size_t kLine = 64;
constexpr size_t round_up(size_t bytes) noexcept { return (bytes + kLine - 1) / kLine * kLine; }

/// One buffer, or one kind of scratch.
struct Area {
  std::byte* base = nullptr;
  core::Datatype* type = nullptr;  // of what travels
  MPI_Aint extent = 1;             // bytes from element to element
  MPI_Count scale = 1;             // of `type` in an element
  MPI_Count block = 0;             // elements of each block (operations that split: of the vector)
  const MPI_Count* counts = nullptr;  // per block, where they differ
  const MPI_Aint* displs = nullptr;   // with counts
  /// Per block, where these differ too: then displs count bytes, and a slice is one block.
  core::Datatype* const* types = nullptr;
  cuda::MemoryKind kind = cuda::MemoryKind::kUnknown;
};

/// Scratch that one pass needs.
struct ScratchNeed {
  size_t stage_slot = 0, mirror = 0;  // bytes of one slot, of one mirror
  ptrdiff_t first_element = 0;        // from the start of either to its element 0
  [[nodiscard]] size_t bytes(const Schedule& schedule) const noexcept;
};

class Geometry {
 public:
  /// `unit` is the type and extent of scratch elements; blocks of scratch are sized like those of
  /// `like`.
  void bind(const Schedule& schedule, const Area& input, const Area& output, const Area& like,
            size_t chunk) noexcept;

  /// Host memory, unless told otherwise.
  void set_scratch_kind(cuda::MemoryKind kind) noexcept { scratch_kind_ = kind; }

  [[nodiscard]] MPI_Count passes() const noexcept { return passes_; }
  [[nodiscard]] const ScratchNeed& scratch() const noexcept { return need_; }
  /// The memory of a slice in pass `pass`, whose scratch lies at `scratch`.
  [[nodiscard]] pml::Buffer at(const Slice& slice, MPI_Count pass,
                               std::byte* scratch) const noexcept;

 private:
  struct Range {
    MPI_Count first, count;  // elements
  };
  [[nodiscard]] Range split_range(const Slice& slice, MPI_Count pass) const noexcept;
  [[nodiscard]] static Range block_range(const Area& area, const Slice& slice) noexcept;
  [[nodiscard]] MPI_Count length_of(MPI_Count pass) const noexcept;
  [[nodiscard]] MPI_Count scratch_count(const Slice& slice) const noexcept;
  /// Elements of the blocks before this one, side by side in scratch.
  [[nodiscard]] MPI_Count blocks_before(int32_t block) const noexcept;
  [[nodiscard]] pml::Buffer in_scratch(const Slice& slice, MPI_Count count, MPI_Count pass,
                                       std::byte* scratch) const noexcept;
  void size_scratch() noexcept;

  const Schedule* schedule_ = nullptr;
  Area input_, output_, like_;
  bool splits_ = false;
  MPI_Count pass_length_ = 0;  // elements of a vector in one pass
  MPI_Count passes_ = 1;
  ScratchNeed need_;
  cuda::MemoryKind scratch_kind_ = cuda::MemoryKind::kHost;
};

}  // namespace tern::coll
