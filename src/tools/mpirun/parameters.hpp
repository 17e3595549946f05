// SPDX-License-Identifier: Apache-2.0
// Reports wrong parameters of Tern once for all ranks before the start; ranks then stay silent.
#pragma once

#include <string>
#include <vector>

#include "base/params.hpp"
#include "tools/mpirun/options.hpp"

namespace tern::mpirun {

[[nodiscard]] std::vector<std::string> parameter_complaints(const Options& options);
[[nodiscard]] Params parameters_of(const Options& options);

}  // namespace tern::mpirun
