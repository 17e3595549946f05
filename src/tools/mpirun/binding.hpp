// SPDX-License-Identifier: Apache-2.0
// Binds ranks to processors.
#pragma once

#include <string>
#include <vector>

#include "tools/mpirun/options.hpp"
#include "topo/cpus.hpp"

namespace tern::mpirun {

using Cpus = std::vector<int>;

// Splits `cores` into parts of `unit`. A hardware thread is a core with a single processor.
[[nodiscard]] std::vector<std::vector<topo::Core>> parts_of(Unit unit,
                                                            const std::vector<topo::Core>& cores);

// Returns each rank's processors; an empty list keeps mpirun's mask. A share is a run of
// neighbouring cores, to keep a rank's threads together. If ranks exceed cores, nothing is bound.
// Throws tern::Error if the ranks do not fit the request.
[[nodiscard]] std::vector<Cpus> bind_ranks(const Placing& placing, int ranks,
                                           const std::vector<topo::Core>& cores);

// "rank 3: processors 4-7 (NUMA node 1)"
[[nodiscard]] std::string binding_in_words(int rank, const Cpus& cpus,
                                           const std::vector<topo::Core>& cores);

}  // namespace tern::mpirun
