// SPDX-License-Identifier: Apache-2.0
// Datatype: the layout of one element in memory, and packing by byte ranges.
// Why: one description serves host packing, single-copy transfers and, later, GPU kernels.
// Lifetime: reference counted; immutable once committed. Threads: const members from any.
// See: MPI-5.0 chapter 5; tests/unit/core/datatype_test.cc.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <string>

#include "core/object.hpp"
#include "mpi.h"

namespace tern::core {

class Attributes;
class TypeLayout;  // compiled form, private to core/datatype*
class TypeRecipe;  // how it was constructed (envelope and contents)

class Datatype final : public Object {
 public:
  static constexpr Kind kKind = Kind::kDatatype;
  Datatype() noexcept;
  ~Datatype() override;

  /// Bytes of data in one element; -1 (MPI_UNDEFINED for the user) where this build has no such type.
  [[nodiscard]] MPI_Count size() const noexcept { return size_; }
  [[nodiscard]] MPI_Aint lb() const noexcept { return lb_; }
  [[nodiscard]] MPI_Aint extent() const noexcept { return extent_; }
  [[nodiscard]] MPI_Aint true_lb() const noexcept { return true_lb_; }
  [[nodiscard]] MPI_Aint true_extent() const noexcept { return true_extent_; }
  [[nodiscard]] bool committed() const noexcept { return committed_; }
  /// True where `count` elements at `buf` are one block of count * size() bytes at buf + true_lb().
  [[nodiscard]] bool contiguous() const noexcept { return contiguous_; }
  /// The predefined type that every basic element is, or nullptr where they differ (reductions).
  [[nodiscard]] const Datatype* basic() const noexcept { return basic_; }

  /// Copies the bytes [offset, offset + bytes) of the packed form of (buf, count) to `out` / from `in`.
  /// Any byte may be the border. Data path: no allocation, no failure. For host memory.
  void pack(const void* buf, MPI_Count count, size_t offset, void* out,
            size_t bytes) const noexcept;
  void unpack(void* buf, MPI_Count count, size_t offset, const void* in,
              size_t bytes) const noexcept;

  /// The memory pieces of the packed bytes [offset, offset + limit): fills at most `most` entries, sets
  /// `covered` to the bytes they hold, returns how many entries.
  size_t pieces(const void* buf, MPI_Count count, size_t offset, size_t limit, iovec* out,
                size_t most, size_t* covered) const noexcept;

 private:
  friend class TypeBuilder;  // core/datatype_build.cc: the only writer
  MPI_Count size_ = 0;
  MPI_Aint lb_ = 0, extent_ = 0, true_lb_ = 0, true_extent_ = 0;
  bool committed_ = false;
  bool contiguous_ = false;
  const Datatype* basic_ = nullptr;
  TypeLayout* layout_ = nullptr;  // null while contiguous
  TypeRecipe* recipe_ = nullptr;

 public:
  std::string name;
  Attributes* attributes = nullptr;  // made at first use, deleted by MPI_Type_free's rules
};

/// Makes the predefined types of the ABI and enters them in the process's handle table.
void make_predefined_types(Process& process);
/// The predefined type of an ABI constant (MPI_BYTE, ...); never null for a supported one.
Datatype& predefined_type(Process& process, MPI_Datatype constant) noexcept;

}  // namespace tern::core
