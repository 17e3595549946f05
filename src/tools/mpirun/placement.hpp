// SPDX-License-Identifier: Apache-2.0
// Places a job's ranks on this machine: reads the machine, settles the number of ranks, takes cores
// and binds.
#pragma once

#include <string>
#include <vector>

#include "tools/mpirun/binding.hpp"
#include "tools/mpirun/options.hpp"
#include "topo/core_hold.hpp"
#include "topo/machine.hpp"

namespace tern::mpirun {

struct Places {
  topo::Machine machine;
  std::vector<Cpus> cpus;
  topo::CoreHold hold;
  std::string remark;
};

// Fills in numbers of ranks not given. Throws tern::Error for contradictions.
void settle_ranks(Options& options, const std::vector<topo::Core>& cores);

[[nodiscard]] Places place_on(topo::Machine machine, Options& options, topo::CoreHold hold);

// Places ranks started by a rank of `parent`. If the parent's ranks are bound, each new rank gets
// as many cores as a rank of the parent, or fewer, from cores free of worlds of this mpirun
// (`taken`) and of other mpiruns. With too few cores nothing is bound.
[[nodiscard]] Places place_beside(const Places& parent, const Cpus& taken, int ranks,
                                  topo::CoreHold hold);

// Settles and places on this machine; reads only the parts that the options need.
[[nodiscard]] Places place_job(Options& options);

}  // namespace tern::mpirun
