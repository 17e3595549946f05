// SPDX-License-Identifier: Apache-2.0
// simulate: predicted time of a collective on a topology, and the busiest link. The model excludes
// launches, protocols, and other traffic.
//
// Model. Messages and puts take the route's latency, then share links fairly (network.hpp); flows
// of a rank pair are sequential. Flows, copies and reductions load GPU memory. Engine kHost: lanes,
// Schedule::at_once passes at once; a message begins when both ends are ready. Engine kStream:
// lowered schedules (coll/lower), a queue per pass, two passes at once; ranks across a network
// exchange messages. A put includes its signal; other signals take the latency. Units: us, bytes.
// Cost: O(passes x steps x active flows).
#pragma once

#include <string>
#include <vector>

#include "coll/schedule/schedule.hpp"
#include "coll/topology/topology.hpp"

namespace tern::coll {

enum class SimulatedEngine : uint8_t { kHost, kStream };

struct Simulation {
  SimulatedEngine engine = SimulatedEngine::kHost;
  double bytes = 0;
  double chunk = 0;  // block bytes per pass; 0: one pass
  /// kStream: `fit` tries 1, 2, 4, ... passes and keeps the fastest number. The passes have about
  /// `chunk` bytes of a block or more, and fit a stream's queue (64 passes, 512 steps of a rank).
  bool fit = false;
};

struct Simulated {
  double time = 0;  // us
  int32_t passes = 1;
  int32_t busiest = -1;  // link; -1: none
  double share = 0;      // share of the busiest link's bandwidth
  std::vector<double> carried;
};

/// `all[r]` is rank r's unlowered schedule, run on GPU r. Throws tern::Error if GPUs are too few, a
/// schedule is not lowered, or the run never completes.
[[nodiscard]] Simulated simulate(const std::vector<Schedule>& all, const Topology& topology,
                                 const Simulation& what);

/// bus_bandwidth() is in GB/s as in nccl-tests: minimum bytes sent or received by a rank, per time.
/// Barriers have 0.
[[nodiscard]] double bus_bandwidth(const Schedule& any, double bytes, double time);

}  // namespace tern::coll
