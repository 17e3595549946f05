// SPDX-License-Identifier: Apache-2.0
// Text of --dry-run: the ranks to start and their places.
#pragma once

#include <string>
#include <vector>

#include "tools/mpirun/options.hpp"
#include "tools/mpirun/placement.hpp"

namespace tern::mpirun {

// `paths`: the program found for each section.
[[nodiscard]] std::string dry_run_text(const Options& options, const Places& places,
                                       const std::vector<std::string>& paths);

[[nodiscard]] std::string quoted(const std::vector<std::string>& words);

}  // namespace tern::mpirun
