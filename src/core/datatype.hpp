// SPDX-License-Identifier: Apache-2.0
// Datatype: the layout of one element, with packing by byte ranges (MPI-5.0 chapter 5). Immutable
// except for name, attributes and committed flag.
// Why: one description serves host packing, single-copy transfers and GPU kernels.
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
struct Recipe;

class Datatype final : public Object {
 public:
  static constexpr Kind kKind = Kind::kDatatype;
  Datatype() noexcept : Object(kKind) {}
  ~Datatype() override;

  /// A type missing in this build has the size -1 (MPI_UNDEFINED).
  [[nodiscard]] MPI_Count size() const noexcept { return size_; }
  [[nodiscard]] MPI_Aint lb() const noexcept { return lb_; }
  [[nodiscard]] MPI_Aint extent() const noexcept { return extent_; }
  [[nodiscard]] MPI_Aint true_lb() const noexcept { return true_lb_; }
  [[nodiscard]] MPI_Aint true_extent() const noexcept { return true_extent_; }
  [[nodiscard]] int alignment() const noexcept { return alignment_; }
  [[nodiscard]] bool committed() const noexcept { return committed_; }
  void commit() noexcept { committed_ = true; }
  /// Elements of a contiguous type at `buf` form one block at buf + true_lb().
  [[nodiscard]] bool contiguous() const noexcept { return contiguous_; }
  /// basic() is the common predefined type of all basic elements, or nullptr.
  [[nodiscard]] const Datatype* basic() const noexcept { return basic_; }
  [[nodiscard]] Number number() const noexcept { return number_; }
  /// A permanent type must not be freed, even if it is no constant (Fortran's parameterised types).
  [[nodiscard]] bool permanent() const noexcept { return permanent_; }

  [[nodiscard]] MPI_Count elements() const noexcept { return elements_; }
  /// elements_in() returns -1 if `bytes` ends inside an element.
  [[nodiscard]] MPI_Count elements_in(MPI_Count bytes) const noexcept;
  [[nodiscard]] MPI_Count bytes_of(MPI_Count elements) const noexcept;

  /// pack() and unpack() copy the bytes [offset, offset + bytes) of the packed form of host memory,
  /// and never allocate or fail.
  void pack(const void* buf, MPI_Count count, size_t offset, void* out,
            size_t bytes) const noexcept;
  void unpack(void* buf, MPI_Count count, size_t offset, const void* in,
              size_t bytes) const noexcept;

  /// pieces() lists at most `most` memory pieces of the packed bytes [offset, offset + limit).
  /// `covered` receives the bytes of these pieces.
  size_t pieces(const void* buf, MPI_Count count, size_t offset, size_t limit, iovec* out,
                size_t most, size_t* covered) const noexcept;

  /// The normal form; null node without data.
  [[nodiscard]] const PlacedLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] const Recipe& recipe() const noexcept { return *recipe_; }

  Name name;
  Attributes attributes;

 private:
  friend std::shared_ptr<const cuda::LayoutProgram> device_layout(const Datatype& type);
  friend class TypeBuilder;
  template <class Visitor>
  void visit(const void* buf, MPI_Count count, size_t offset, size_t bytes,
             Visitor& visitor) const noexcept;

  MPI_Count size_ = 0;
  MPI_Count elements_ = 0;
  MPI_Aint lb_ = 0, extent_ = 0, true_lb_ = 0, true_extent_ = 0;
  int alignment_ = 1;
  bool lb_marked_ = false, ub_marked_ = false;
  bool committed_ = false;
  bool permanent_ = false;
  bool contiguous_ = false;
  Number number_ = Number::kNone;
  const Datatype* basic_ = nullptr;
  PlacedLayout layout_;
  std::shared_ptr<const Recipe> recipe_;
  mutable std::shared_ptr<const cuda::LayoutProgram> device_layout_;
};

void make_predefined_types(Process& process);
/// free_predefined_types() ends all handles of predefined types.
void free_predefined_types(Process& process) noexcept;
Datatype& predefined_type(Process& process, MPI_Datatype constant) noexcept;

}  // namespace tern::core
