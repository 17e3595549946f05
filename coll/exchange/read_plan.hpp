// SPDX-License-Identifier: Apache-2.0
// Reads a plan of another project.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "coll/schedule/file_plan.hpp"

namespace tern::coll {

/// `text`: a plan of MSCCL (XML) or MSCCL++ (JSON). Errors: see read_msccl().
[[nodiscard]] std::shared_ptr<const FilePlan> read_plan(std::string_view text,
                                                        const std::string& file);

}  // namespace tern::coll
