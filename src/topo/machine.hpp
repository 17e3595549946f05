// SPDX-License-Identifier: Apache-2.0
// The allowed cores with the caches and packages that they share, by hwloc.
// Why: what cpus.hpp reads from the kernel knows no caches and packages, and only hwloc can pretend
// to be another machine (HWLOC_SYNTHETIC, HWLOC_XMLFILE).
// Cost: 5 to 20 ms. Threads: any.
// See: tests/unit/topo/machine_test.cc.
#pragma once

#include <vector>

#include "topo/cpus.hpp"

namespace tern::topo {

struct Machine {
  std::vector<Core> cores;   // in hwloc's order: neighbours share the most
  bool this_machine = true;  // false: a machine made up by HWLOC_SYNTHETIC or HWLOC_XMLFILE
};

// Whether the environment asks hwloc for another machine.
[[nodiscard]] bool machine_is_made_up() noexcept;

// Throws tern::Error where hwloc cannot be loaded or does not understand the machine.
[[nodiscard]] Machine machine_by_hwloc();

}  // namespace tern::topo
