// SPDX-License-Identifier: Apache-2.0
// Datatype: the layout of one element in memory, and packing by byte ranges.
// Why: one description serves host packing, single-copy transfers and, later, GPU kernels.
// Lifetime: reference counted; immutable but for its name, its attributes and being committed.
// Threads: const members from any.
// See: MPI-5.0 chapter 5; core/datatype_build.hpp (constructors); tests/unit/core/datatype_test.cc.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <string>

#include "base/number.hpp"
#include "core/attribute.hpp"
#include "core/datatype_layout.hpp"
#include "core/object_lock.hpp"
#include "mpi.h"

namespace tern::cuda {
class LayoutProgram;
}

namespace tern::core {

class Process;
struct Recipe;  // how it was constructed (envelope and contents)

class Datatype final : public Object {
 public:
  static constexpr Kind kKind = Kind::kDatatype;
  Datatype() noexcept : Object(kKind) {}
  ~Datatype() override;

  /// Bytes of data in one element; -1 (MPI_UNDEFINED for the user) where this build has no such
  /// type.
  [[nodiscard]] MPI_Count size() const noexcept { return size_; }
  [[nodiscard]] MPI_Aint lb() const noexcept { return lb_; }
  [[nodiscard]] MPI_Aint extent() const noexcept { return extent_; }
  [[nodiscard]] MPI_Aint true_lb() const noexcept { return true_lb_; }
  [[nodiscard]] MPI_Aint true_extent() const noexcept { return true_extent_; }
  /// That a compiler gives it.
  [[nodiscard]] int alignment() const noexcept { return alignment_; }
  [[nodiscard]] bool committed() const noexcept { return committed_; }
  void commit() noexcept { committed_ = true; }
  /// True where `count` elements at `buf` are one block of count * size() bytes at buf + true_lb().
  [[nodiscard]] bool contiguous() const noexcept { return contiguous_; }
  /// The predefined type that every basic element is, or nullptr where they differ (reductions).
  [[nodiscard]] const Datatype* basic() const noexcept { return basic_; }
  /// What the elements of a predefined type are to a reduction; kNone for derived types.
  [[nodiscard]] Number number() const noexcept { return number_; }
  /// A type that MPI made and the user may not free, though it is no constant (Fortran's
  /// parameterised ones).
  [[nodiscard]] bool permanent() const noexcept { return permanent_; }

  /// Basic elements in one element (both halves of a pair count).
  [[nodiscard]] MPI_Count elements() const noexcept { return elements_; }
  /// Basic elements in the first `bytes` packed bytes of any number of elements; -1 where `bytes`
  /// ends inside one.
  [[nodiscard]] MPI_Count elements_in(MPI_Count bytes) const noexcept;
  /// The other way: the packed bytes of the first `elements` basic elements.
  [[nodiscard]] MPI_Count bytes_of(MPI_Count elements) const noexcept;

  /// Copies the bytes [offset, offset + bytes) of the packed form of (buf, count) to `out` / from
  /// `in`.
  /// Any byte may be the border. Data path: no allocation, no failure. For host memory.
  void pack(const void* buf, MPI_Count count, size_t offset, void* out,
            size_t bytes) const noexcept;
  void unpack(void* buf, MPI_Count count, size_t offset, const void* in,
              size_t bytes) const noexcept;

  /// The memory pieces of the packed bytes [offset, offset + limit): fills at most `most` entries,
  /// sets `covered` to the bytes they hold, returns how many entries.
  size_t pieces(const void* buf, MPI_Count count, size_t offset, size_t limit, iovec* out,
                size_t most, size_t* covered) const noexcept;

  /// The normal form; no node where the type holds no data.
  [[nodiscard]] const Placed& layout() const noexcept { return layout_; }
  [[nodiscard]] const Recipe& recipe() const noexcept { return *recipe_; }

  Name name;
  Attributes attributes;

 private:
  friend std::shared_ptr<const cuda::LayoutProgram> device_layout(const Datatype& type);
  friend class TypeBuilder;  // core/datatype_build.cc: the only writer
  template <class Visitor>
  void visit(const void* buf, MPI_Count count, size_t offset, size_t bytes,
             Visitor& visitor) const noexcept;

  MPI_Count size_ = 0;
  MPI_Count elements_ = 0;
  MPI_Aint lb_ = 0, extent_ = 0, true_lb_ = 0, true_extent_ = 0;
  int alignment_ = 1;
  bool lb_marked_ = false, ub_marked_ = false;  // set by resizing: wins over the data's bounds
  bool committed_ = false;
  bool permanent_ = false;
  bool contiguous_ = false;
  Number number_ = Number::kNone;
  const Datatype* basic_ = nullptr;
  Placed layout_;
  std::shared_ptr<const Recipe> recipe_;
  mutable std::shared_ptr<const cuda::LayoutProgram> device_layout_;  // core/datatype_device.cc
};

/// Makes the predefined types of the ABI and enters them in the process's handle table.
void make_predefined_types(Process& process);
/// Ends them; no handle of a predefined type may be used afterwards.
void free_predefined_types(Process& process) noexcept;
/// The predefined type of an ABI constant (MPI_BYTE, ...); never null for a supported one.
Datatype& predefined_type(Process& process, MPI_Datatype constant) noexcept;

}  // namespace tern::core
