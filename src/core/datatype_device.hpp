// SPDX-License-Identifier: Apache-2.0
// What kernels know of datatypes and operations: a type's layout as a program for the device, and
// the kernel that applies an operation to a type.
// Lifetime: a program is made when first asked for and kept with its type; work under way holds it.
// Threads: any.
// See: cuda/kernels/layout.hpp, tests/unit/cuda/pack_kernels_test.cc.
#pragma once

#include <memory>
#include <optional>

#include "cuda/kernels/layout.hpp"
#include "cuda/kernels/reduce_plan.hpp"

namespace tern::core {

class Datatype;
class Op;

/// For cuda::Kernels::pack and unpack; null where the type holds no data. Not for contiguous types
/// alone, but there a copy is enough.
[[nodiscard]] std::shared_ptr<const cuda::LayoutProgram> device_layout(const Datatype& type);

/// How kernels apply `op` to elements of `type`.
struct DeviceReduction {
  Reduction operation;
  cuda::ReducePlan plan;
  /// Basic elements in one element of `type`, which lie in one piece.
  int64_t elements;
};
/// Nothing for user operations, types with gaps (pack them first: their packed form is an array of
/// basic()), pairs packed without their padding, and numbers that devices lack; `why` says which,
/// where it is not null.
[[nodiscard]] std::optional<DeviceReduction> device_reduction(const Op& op, const Datatype& type,
                                                              const char** why = nullptr) noexcept;

}  // namespace tern::core
