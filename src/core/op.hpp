// SPDX-License-Identifier: Apache-2.0
// Op: a reduction operation, predefined or the user's.
// Why: collectives call one function pointer per chunk; which loop it is was decided before.
// Threads: const members from any.
// See: MPI-5.0 section 6.9; core/reduce/ (the loops); tests/unit/core/op_test.cc.
#pragma once

#include <cstddef>

#include "base/number.hpp"
#include "core/datatype.hpp"
#include "core/object.hpp"
#include "core/reduce/table.hpp"
#include "mpi.h"

namespace tern::core {

class Process;

class Op final : public Object {
 public:
  static constexpr Kind kKind = Kind::kOp;
  using Loop = loops::Loop;

  Op(MPI_User_function* function, bool commutative) noexcept
      : Object(kKind), commutative_(commutative), user_(function) {}
  Op(MPI_User_function_c* function, bool commutative) noexcept
      : Object(kKind), commutative_(commutative), user_large_(function) {}

  [[nodiscard]] bool commutative() const noexcept { return commutative_; }
  /// Which one, of a predefined operation.
  [[nodiscard]] Reduction reduction() const noexcept { return reduction_; }
  /// Whether two operands may change places, and the result has the same bits. Not of a minimum,
  /// and of zeros of both signs.
  [[nodiscard]] bool changes_places() const noexcept {
    switch (reduction_) {
      case Reduction::kSum:
      case Reduction::kProd:
      case Reduction::kBand:
      case Reduction::kBor:
      case Reduction::kBxor:
      case Reduction::kLand:
      case Reduction::kLor:
      case Reduction::kLxor:
        return !user_defined();
      default:
        return false;
    }
  }
  [[nodiscard]] bool user_defined() const noexcept { return name_ == nullptr; }
  /// "MPI_SUM"; "a user-defined operation" for others.
  [[nodiscard]] const char* name() const noexcept;
  /// True where a reduction may apply the op to this type: MPI's tables for predefined ops, and
  /// derived types all of whose elements are of one such type. MPI_REPLACE and MPI_NO_OP take part
  /// in no reduction.
  [[nodiscard]] bool accepts(const Datatype& type) const noexcept;
  /// 0, or MPI_ERR_OP with a sentence that names both.
  [[nodiscard]] int check(const Datatype& type) const noexcept;
  /// The loop for a predefined op on a predefined type (MPI_REPLACE and MPI_NO_OP have theirs);
  /// nullptr where not allowed or user-defined.
  [[nodiscard]] Loop loop(const Datatype& basic) const noexcept {
    return loops_ != nullptr ? loops_[static_cast<size_t>(basic.number())] : nullptr;
  }

  /// inout = in (op) inout on `count` elements of `type`; both buffers are laid out as `type` says.
  /// The type is any for user ops, one whose basic() has a loop for predefined ops. Host memory.
  /// An error class where the user's function threw an exception.
  [[nodiscard]] int apply(const void* in, void* inout, MPI_Count count,
                          const Datatype& type) const noexcept;

 private:
  friend void make_predefined_ops(Process& process);
  Op(const char* name, Reduction reduction, const Loop* loops, bool reduces) noexcept
      : Object(kKind), name_(name), reduction_(reduction), loops_(loops), reduces_(reduces) {}
  int call_user(const void* in, void* inout, MPI_Count count, const Datatype& type) const noexcept;

  const char* name_ = nullptr;
  Reduction reduction_ = Reduction::kNoOp;
  const Loop* loops_ = nullptr;  // by Number: a row of the table of loops
  bool reduces_ = true;
  bool commutative_ = true;
  MPI_User_function* user_ = nullptr;
  MPI_User_function_c* user_large_ = nullptr;
};

/// Makes the predefined operations of the ABI and enters them in the process's handle table.
void make_predefined_ops(Process& process);
[[nodiscard]] const Op& predefined_op(const Process& process, Reduction reduction) noexcept;
/// Ends them; no handle of a predefined operation may be used afterwards.
void free_predefined_ops(Process& process) noexcept;

}  // namespace tern::core
