// SPDX-License-Identifier: Apache-2.0
// What would be started where, in words: --dry-run.
#pragma once

#include <string>
#include <vector>

#include "tools/mpirun/options.hpp"
#include "tools/mpirun/placement.hpp"

namespace tern::mpirun {

// `paths` is the program of each section, found.
[[nodiscard]] std::string dry_run_text(const Options& options, const Places& places,
                                       const std::vector<std::string>& paths);

// Words as a shell would need them quoted.
[[nodiscard]] std::string quoted(const std::vector<std::string>& words);

}  // namespace tern::mpirun
