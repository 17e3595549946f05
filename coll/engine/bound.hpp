// SPDX-License-Identifier: Apache-2.0
// Bound: a schedule bound to the buffers of an operation: the address of each slice in each pass.
// Moved dense data counts in bytes, since types may differ between ranks; broadcasts, and schedules
// with cut blocks, pack other data. Reductions use elements of the caller's type. Lifetime: an
// execution, rebound for each call.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "coll/engine/cache.hpp"
#include "coll/engine/geometry.hpp"
#include "coll/engine/kept_operation.hpp"
#include "coll/engine/operation.hpp"
#include "core/process.hpp"

namespace tern::coll {

class Bound {
 public:
  /// `kept` belongs to the request and outlives this object.
  Bound(core::Process& process, core::Datatype* byte, KeptOperation& kept) noexcept
      : process_(process), byte_(byte), kept_(kept) {}

  /// bind() keeps types and arrays until the request drops them. `chunk`: bytes of a part per pass;
  /// 0: one pass. `cached` stays in use until release(); `own` holds the schedule if no cache does.
  /// Throws std::bad_alloc.
  void bind(const Operation& operation, size_t chunk, CachedSchedule& cached,
            std::shared_ptr<CachedSchedule> own = {});
  void release() noexcept;

  [[nodiscard]] const Schedule& schedule() const noexcept { return *schedule_; }
  [[nodiscard]] MPI_Count passes() const noexcept { return geometry_.passes(); }
  [[nodiscard]] size_t at_once() const noexcept { return at_once_; }
  [[nodiscard]] std::byte* scratch_of(size_t which) const noexcept {
    return scratch_ + which * scratch_bytes_;
  }
  [[nodiscard]] pml::Buffer at(const Slice& slice, MPI_Count pass,
                               std::byte* scratch) const noexcept {
    return geometry_.at(slice, pass, scratch);
  }

  struct Aside {
    pml::Buffer from, to;
  };
  /// Calls `copy` with each Aside before the first step, or after the last (`back`).
  template <class Copy>
  void each_aside(bool back, const Copy& copy) const {
    if (TERN_LIKELY(!copied_input_.used && !copied_output_.used)) return;
    for (const CopiedSide* side : {&copied_input_, &copied_output_})
      for (int32_t i = 0; i < (back ? side->back : side->aside); ++i) copy(aside(*side, i, back));
  }

 private:
  /// CopiedSide: a copy that replaces the caller's input or output during the schedule.
  struct CopiedSide {
    bool used = false;
    Area users, copy;
    int32_t aside = 0, back = 0;  // blocks copied before and after
    size_t bytes = 0;
    ptrdiff_t origin = 0;  // offset to element 0
    std::vector<MPI_Count> counts;
    std::vector<MPI_Aint> displs;

    void reset() noexcept {
      used = false;
      aside = back = 0;
      bytes = 0;
      origin = 0;
    }
  };

  [[nodiscard]] const Operation& operation() const noexcept { return kept_.operation(); }
  [[nodiscard]] bool is_root() const noexcept { return schedule_->rank == schedule_->root; }
  struct Areas {
    Area input, output, like;
  };
  [[nodiscard]] Areas find_areas();
  [[nodiscard]] Area area_of(const Side& side) const noexcept;
  [[nodiscard]] Area area_like();
  void alias(Areas& areas) const noexcept;
  void pack_blocks(const Side& side, const Area& users, CopiedSide& copied);
  void pack_sides(const Areas& areas);
  void put_vector_aside(const Area& input);
  void pack_bcast(Area& output);
  [[nodiscard]] bool cuts(const Area& like) const noexcept;
  [[nodiscard]] static Aside aside(const CopiedSide& side, int32_t block, bool back) noexcept;
  void place(Areas& areas, std::byte* memory);
  [[nodiscard]] std::byte* find_memory(size_t bytes);

  core::Process& process_;
  core::Datatype* const byte_;
  KeptOperation& kept_;
  CachedSchedule* cached_ = nullptr;
  std::shared_ptr<CachedSchedule> own_;
  const Schedule* schedule_ = nullptr;
  Geometry geometry_;
  std::vector<std::byte> memory_;
  cuda::Block device_memory_;
  cuda::MemoryKind scratch_kind_ = cuda::MemoryKind::kHost;
  std::byte* scratch_ = nullptr;
  size_t scratch_bytes_ = 0, at_once_ = 0;

  size_t chunk_ = 0;
  CopiedSide copied_input_, copied_output_;
  std::vector<MPI_Count> like_counts_;
};

}  // namespace tern::coll
