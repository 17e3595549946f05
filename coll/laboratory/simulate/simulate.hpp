// SPDX-License-Identifier: Apache-2.0
// simulate: predicted time of a collective on a topology, and the busiest link. The model excludes
// launches, protocols, and other traffic.
//
// Model. Messages and puts take the route's latency, then share links fairly (network.hpp); flows
// of a rank pair are sequential. Flows, copies and reductions load GPU memory. Engine kHost: lanes,
// Schedule::at_once passes at once; a message begins when both ends are ready. Engine kStream:
// lowered schedules (coll/lower), a queue per pass, two passes at once; ranks across a network
// exchange messages. A put includes its signal; other signals take the latency. Ranks with the same
// part run once (classes.hpp). Units: us, bytes.
#pragma once

#include <vector>

#include "coll/laboratory/simulate/simulation.hpp"
#include "coll/schedule/schedule.hpp"
#include "coll/topology/topology.hpp"

namespace tern::coll {

class Pattern;
/// `pattern` runs on the first GPUs. Throws tern::Error if GPUs are too few or the run never
/// completes.
[[nodiscard]] Simulated simulate(const Pattern& pattern, const Topology& topology,
                                 const Simulation& what);
/// `all[r]` is rank r's unlowered schedule. Also throws if a schedule is not lowered.
[[nodiscard]] Simulated simulate(const std::vector<Schedule>& all, const Topology& topology,
                                 const Simulation& what);

/// bus_bandwidth() is in GB/s as in nccl-tests: minimum bytes sent or received by a rank, per time.
/// Barriers have 0.
[[nodiscard]] double bus_bandwidth(Collective collective, int32_t ranks, double bytes, double time);

}  // namespace tern::coll
