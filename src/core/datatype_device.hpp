// SPDX-License-Identifier: Apache-2.0
// Datatypes and operations for kernels: a layout as a device program, and the plan of a reduction.
// Lifetime: a program is built on first use and kept with its type; jobs in flight hold a
// reference. Threads: any.
// See: cuda/kernels/layout.hpp, tests/unit/cuda/pack_kernels_test.cc.
#pragma once

#include <memory>
#include <optional>

#include "cuda/kernels/layout.hpp"
#include "cuda/kernels/reduce_plan.hpp"

namespace tern::core {

class Datatype;
class Op;

/// For cuda::Kernels::pack and unpack; null if the type holds no data. Valid for contiguous types
/// too, but a copy suffices there.
[[nodiscard]] std::shared_ptr<const cuda::LayoutProgram> device_layout(const Datatype& type);

struct DeviceReduction {
  Reduction operation;
  cuda::ReducePlan plan;
  /// Basic elements in one element of `type`, without gaps between them.
  int64_t elements;
};
/// Sets `why`, unless null, and returns nothing for user operations, types with gaps (pack first:
/// the packed form is an array of basic()), pairs packed without padding, and numbers unknown to
/// devices.
[[nodiscard]] std::optional<DeviceReduction> device_reduction(const Op& op, const Datatype& type,
                                                              const char** why = nullptr) noexcept;

}  // namespace tern::core
