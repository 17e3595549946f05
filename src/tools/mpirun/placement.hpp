// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a job on this machine go: reads the machine, settles how many ranks there are,
// takes cores and binds.
// See: tests/unit/tools/placement_test.cc.
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
  std::vector<Cpus> cpus;  // of each rank; empty: not bound
  topo::CoreHold hold;     // keeps other jobs off these cores
  std::string remark;      // why it is not as one would expect; empty: it is
};

// Fills in the numbers of ranks that were not said. Throws tern::Error where numbers contradict.
void settle_ranks(Options& options, const std::vector<topo::Core>& cores);

// Both, for a machine that is known. `hold` is empty.
[[nodiscard]] Places place_on(topo::Machine machine, Options& options, topo::CoreHold hold);

// The same for this machine, of which no more is read than the options need.
[[nodiscard]] Places place_job(Options& options);

}  // namespace tern::mpirun
