// SPDX-License-Identifier: Apache-2.0
// Machine: the allowed cores with shared caches and packages, from hwloc. Cost: 5 to 20 ms.
#pragma once

#include <vector>

#include "topo/cpus.hpp"

namespace tern::topo {

struct Machine {
  std::vector<Core> cores;
  bool this_machine = true;
};

// A made-up machine comes from HWLOC_SYNTHETIC, HWLOC_XMLFILE or HWLOC_FSROOT.
[[nodiscard]] bool machine_is_made_up() noexcept;

[[nodiscard]] Machine machine_by_hwloc();

}  // namespace tern::topo
