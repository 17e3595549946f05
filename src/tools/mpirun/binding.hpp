// SPDX-License-Identifier: Apache-2.0
// Which processors each rank gets.
// See: tests/unit/tools/binding_test.cc.
#pragma once

#include <string>
#include <vector>

#include "tools/mpirun/options.hpp"
#include "topo/cpus.hpp"

namespace tern::mpirun {

using Cpus = std::vector<int>;

// The parts of one kind, each as its cores (a hardware thread: a core of one processor).
[[nodiscard]] std::vector<std::vector<topo::Core>> parts_of(Unit unit,
                                                            const std::vector<topo::Core>& cores);

// For each rank its processors; empty: it keeps mpirun's own. A share is a run of neighbouring
// cores, so that threads of a rank stay together; nothing is bound when ranks exceed cores. Throws
// tern::Error where the ranks do not fit what was asked.
[[nodiscard]] std::vector<Cpus> bind_ranks(const Placing& placing, int ranks,
                                           const std::vector<topo::Core>& cores);

// "rank 3: processors 4-7 (NUMA node 1)"
[[nodiscard]] std::string binding_in_words(int rank, const Cpus& cpus,
                                           const std::vector<topo::Core>& cores);

}  // namespace tern::mpirun
