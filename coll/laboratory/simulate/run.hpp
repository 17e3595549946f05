// SPDX-License-Identifier: Apache-2.0
// run: event-driven execution of the passes of a pattern, a representative per class of ranks.
// Simultaneous events take effect together, in the order of pass, lane and step, never of ranks.
// Lifetime: a call. Cost: O(passes x steps of the representatives), times the shared flows.
#pragma once

#include "coll/laboratory/simulate/classes.hpp"
#include "coll/laboratory/simulate/pattern.hpp"
#include "coll/laboratory/simulate/simulation.hpp"
#include "coll/topology/routes.hpp"

namespace tern::coll {

struct RunInput {
  const Pattern& pattern;
  const Classes& classes;
  const Topology& topology;
  Routes& routes;
};

/// Throws tern::Error if a rank never completes.
[[nodiscard]] Simulated run_pattern(const RunInput& input, const Simulation& what, int32_t passes);

}  // namespace tern::coll
