// SPDX-License-Identifier: Apache-2.0
// Datatypes with replaced predefined types, for data in the representation of a file.
#pragma once

#include <functional>
#include <unordered_map>
#include <utility>

#include "core/datatype.hpp"
#include "mpi.h"

namespace tern::io {

/// Builds a datatype anew from the recipe, and replaces the predefined types.
/// Constructors in units of types scale; displacements and extents in bytes stay.
class TypeReplacer {
 public:
  using Replacement = std::function<core::Ref<core::Datatype>(const core::Datatype& basic)>;
  explicit TypeReplacer(Replacement replacement) : replacement_(std::move(replacement)) {}
  /// Throws Error (sizes beyond 64 bits, and errors of the replacement), std::bad_alloc.
  [[nodiscard]] core::Ref<core::Datatype> of(const core::Datatype& type);

 private:
  [[nodiscard]] core::Ref<core::Datatype> built(const core::Datatype& type);
  const Replacement replacement_;
  std::unordered_map<const core::Datatype*, core::Ref<core::Datatype>> made_;
};

/// Sums a number over the predefined types in an element of a datatype.
class ItemSum {
 public:
  using OfItem = std::function<MPI_Count(const core::Datatype& basic)>;
  explicit ItemSum(OfItem of_item) : of_item_(std::move(of_item)) {}
  // These functions throw Error (sums beyond 64 bits, and errors of the summed function).
  [[nodiscard]] MPI_Count of(const core::Datatype& type);
  /// The sum over the first `items` of an element. `counts` is an ItemSum of ones.
  [[nodiscard]] MPI_Count of_first(MPI_Count items, const core::Datatype& type, ItemSum& counts);

 private:
  [[nodiscard]] MPI_Count computed(const core::Datatype& type);
  const OfItem of_item_;
  std::unordered_map<const core::Datatype*, MPI_Count> known_;
};

}  // namespace tern::io
