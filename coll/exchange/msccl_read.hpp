// SPDX-License-Identifier: Apache-2.0
// Reads a plan from an MSCCL algorithm file.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "coll/exchange/msccl_order.hpp"
#include "coll/schedule/file_plan.hpp"

namespace tern::coll {

/// The plan is proved (coll/laboratory/verify), with MPI_IN_PLACE and without. Errors (tern::Error,
/// MPI_ERR_ARG) name `file` and the line, or GPU, thread block and step, or a wrong block.
[[nodiscard]] std::shared_ptr<const FilePlan> read_msccl(std::string_view text,
                                                         const std::string& file);
/// `order`: all steps of the file; each receive comes after its send. Errors as above.
[[nodiscard]] std::shared_ptr<const FilePlan> plan_of(const MscclFile& file,
                                                      const std::vector<MscclPlace>& order);

}  // namespace tern::coll
