// SPDX-License-Identifier: Apache-2.0
// Bound: a schedule bound to the buffers of an operation: the address of each slice in each pass.
// Moved dense data counts in bytes, since types may differ between ranks; broadcasts pack other
// vectors. Reductions use elements of the caller's type. Lifetime: an execution, rebound for each
// call.
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
  struct Passes {
    size_t chunk;  // bytes of a block; 0: one pass
    size_t most;
  };

  /// `kept` belongs to the request and outlives this object.
  Bound(core::Process& process, core::Datatype* byte, KeptOperation& kept) noexcept
      : process_(process), byte_(byte), kept_(kept) {}

  /// bind() keeps types and arrays until the request drops them. `cached` stays in use until
  /// release(); `own` holds the schedule if no cache does. Throws std::bad_alloc.
  void bind(const Operation& operation, const Passes& passes, CachedSchedule& cached,
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
  [[nodiscard]] int32_t puts_aside() const noexcept {
    return aside_ == Kept::kInput || (aside_ == Kept::kBcast && is_root()) ? aside_blocks_ : 0;
  }
  [[nodiscard]] int32_t brings_back() const noexcept {
    return aside_ == Kept::kBcast && !is_root() ? aside_blocks_ : 0;
  }
  [[nodiscard]] Aside aside(int32_t block, bool back) const noexcept;

 private:
  enum class Kept : uint8_t { kNothing, kInput, kBcast };

  [[nodiscard]] const Operation& operation() const noexcept { return kept_.operation(); }
  [[nodiscard]] bool is_root() const noexcept { return schedule_->rank == schedule_->root; }
  struct Areas {
    Area input, output, like;
  };
  [[nodiscard]] Areas find_areas();
  [[nodiscard]] Area area_of(const Side& side) const noexcept;
  [[nodiscard]] Area area_like() const noexcept;
  void bind_in_place(Area& input, Area& output);
  void put_blocks_aside(Area& input, const Area& output);
  void put_vector_aside(Area& input);
  void pack_bcast(Area& output);
  void place(Areas& areas, size_t chunk, std::byte* memory);
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

  Kept aside_ = Kept::kNothing;
  size_t aside_bytes_ = 0;
  ptrdiff_t aside_origin_ = 0;  // offset to element 0 of the copied input
  int32_t aside_blocks_ = 0;
  Area of_user_, put_aside_;
  std::vector<MPI_Count> aside_counts_;
  std::vector<MPI_Aint> aside_displs_;
};

}  // namespace tern::coll
