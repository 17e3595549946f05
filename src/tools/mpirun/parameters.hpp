// SPDX-License-Identifier: Apache-2.0
// What is wrong with Tern's parameters, said once for all ranks before they start (they keep quiet
// then).
#pragma once

#include <string>
#include <vector>

#include "base/params.hpp"
#include "tools/mpirun/options.hpp"

namespace tern::mpirun {

/// Sentences about files, the environment and what the options add to it; each once.
[[nodiscard]] std::vector<std::string> parameter_complaints(const Options& options);
/// The parameters that the ranks of the first section will have.
[[nodiscard]] Params parameters_of(const Options& options);

}  // namespace tern::mpirun
