// SPDX-License-Identifier: Apache-2.0
// Op: a reduction operation, predefined or the user's.
// Why: collectives call one function pointer per chunk; which loop it is was decided before.
// Threads: const members from any.
// See: MPI-5.0 section 6.9; tests/unit/core/op_test.cc.
#pragma once

#include <cstddef>

#include "core/object.hpp"
#include "mpi.h"

namespace tern::core {

class Datatype;

class Op final : public Object {
 public:
  static constexpr Kind kKind = Kind::kOp;
  /// inout[i] = in[i] (op) inout[i] for `count` elements of one basic type.
  using Loop = void (*)(const void* in, void* inout, size_t count) noexcept;

  Op() noexcept : Object(Kind::kOp) {}

  [[nodiscard]] bool commutative() const noexcept { return commutative_; }
  [[nodiscard]] bool user_defined() const noexcept {
    return user_ != nullptr || user_large_ != nullptr;
  }
  /// True where the op may be applied to this type (MPI's tables for predefined ones).
  [[nodiscard]] bool accepts(const Datatype& type) const noexcept;
  /// The loop for a predefined op on a predefined basic type; nullptr where not allowed or user-defined.
  [[nodiscard]] Loop loop(const Datatype& basic) const noexcept;

  /// inout = in (op) inout on `count` elements of `type` (any type for user ops; types whose basic() is
  /// accepted for predefined ones, packed densely: count counts elements of `type`). Host memory.
  void apply(const void* in, void* inout, MPI_Count count, const Datatype& type) const noexcept;

 private:
  friend class OpBuilder;  // core/op.cc
  bool commutative_ = true;
  MPI_User_function* user_ = nullptr;
  MPI_User_function_c* user_large_ = nullptr;
  int predefined_index_ = -1;  // row of the table of loops
};

/// Makes the predefined operations of the ABI and enters them in the process's handle table.
void make_predefined_ops(Process& process);

}  // namespace tern::core
