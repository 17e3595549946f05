// SPDX-License-Identifier: Apache-2.0
// Op: a reduction operation, predefined or the user's (MPI-5.0 section 6.9).
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
  [[nodiscard]] Reduction reduction() const noexcept { return reduction_; }
  /// changes_places() is true if swapping operands preserves every bit of the result. A minimum
  /// does not preserve signed zeros.
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
  [[nodiscard]] const char* name() const noexcept;
  /// accepts() checks the type, or the common type of a derived type's elements, by MPI's rules.
  /// MPI_REPLACE and MPI_NO_OP are refused.
  [[nodiscard]] bool accepts(const Datatype& type) const noexcept;
  [[nodiscard]] int check(const Datatype& type) const noexcept;
  [[nodiscard]] Loop loop(const Datatype& basic) const noexcept {
    return loops_ != nullptr ? loops_[static_cast<size_t>(basic.number())] : nullptr;
  }

  /// inout = in (op) inout in host memory, in the layout of `type`. Predefined ops need a loop for
  /// its basic(). Returns an error class if the user's function threw.
  [[nodiscard]] int apply(const void* in, void* inout, MPI_Count count,
                          const Datatype& type) const noexcept;

 private:
  friend void make_predefined_ops(Process& process);
  Op(const char* name, Reduction reduction, const Loop* loops, bool reduces) noexcept
      : Object(kKind), name_(name), reduction_(reduction), loops_(loops), reduces_(reduces) {}
  int call_user(const void* in, void* inout, MPI_Count count, const Datatype& type) const noexcept;

  const char* name_ = nullptr;
  Reduction reduction_ = Reduction::kNoOp;
  const Loop* loops_ = nullptr;
  bool reduces_ = true;
  bool commutative_ = true;
  MPI_User_function* user_ = nullptr;
  MPI_User_function_c* user_large_ = nullptr;
};

void make_predefined_ops(Process& process);
[[nodiscard]] const Op& predefined_op(const Process& process, Reduction reduction) noexcept;
void free_predefined_ops(Process& process) noexcept;

}  // namespace tern::core
