// SPDX-License-Identifier: Apache-2.0
// Reads a plan from an MSCCL++ execution plan: remote memory and signals become messages.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "coll/schedule/file_plan.hpp"

namespace tern::coll {

/// The plan is proved, as by read_msccl(). Errors (tern::Error, MPI_ERR_ARG) name `file` and the
/// line, or GPU, thread block and operation, or a wrong block.
[[nodiscard]] std::shared_ptr<const FilePlan> read_mscclpp(std::string_view text,
                                                           const std::string& file);

}  // namespace tern::coll
