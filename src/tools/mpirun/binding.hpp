// SPDX-License-Identifier: Apache-2.0
// Which processors each rank gets.
// See: tests/unit/tools/binding_test.cc.
#pragma once

#include <string>
#include <vector>

#include "tools/mpirun/options.hpp"
#include "topo/cpus.hpp"

namespace tern::mpirun {

// For each rank its processors; empty: it keeps mpirun's own. A share is a run of neighbouring
// cores, so that threads of a rank stay together; nothing is bound when ranks exceed cores.
[[nodiscard]] std::vector<std::vector<int>> bind_ranks(Bind bind, int ranks,
                                                       const std::vector<topo::Core>& cores);

// "rank 3: processors 4-7 (NUMA node 1)"
[[nodiscard]] std::string binding_in_words(int rank, const std::vector<int>& cpus,
                                           const std::vector<topo::Core>& cores);

}  // namespace tern::mpirun
