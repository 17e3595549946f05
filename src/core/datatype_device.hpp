// SPDX-License-Identifier: Apache-2.0
// Datatypes and operations for kernels. A program is built on first use and kept with its type;
// jobs hold a reference.
#pragma once

#include <memory>
#include <optional>

#include "cuda/kernels/layout.hpp"
#include "cuda/kernels/reduce_plan.hpp"

namespace tern::core {

class Datatype;
class Op;

[[nodiscard]] std::shared_ptr<const cuda::LayoutProgram> device_layout(const Datatype& type);

struct DeviceReduction {
  Reduction operation;
  cuda::ReducePlan plan;
  /// basic elements per element, without gaps
  int64_t elements;
};
/// device_reduction() returns nothing, with *why, for user operations, types with gaps (pack
/// first), unpadded pairs, and numbers unknown to devices.
[[nodiscard]] std::optional<DeviceReduction> device_reduction(const Op& op, const Datatype& type,
                                                              const char** why = nullptr) noexcept;

}  // namespace tern::core
