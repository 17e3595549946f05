// SPDX-License-Identifier: Apache-2.0
// simulate: predicted time of a collective on a topology, and the busiest link. Why: compares
// algorithms for machines not at hand. Predictions exclude unmodelled effects: launches, protocols,
// other traffic.
//
// Model. Messages and puts take their route's latency, then share links fairly with all other
// traffic (network.hpp); flows of a rank pair are sequential. Flows, copies and reductions load the
// memory of the GPUs involved. Engine kHost: lanes, three passes at once (as engine_host); a
// message begins when both ends are ready. Engine kStream: lowered schedules (coll/lower), a queue
// of steps per pass, two passes at once, one per inbox half; ranks across a network exchange
// messages. A put includes its signal; other signals take the latency. Units: us, bytes. Cost:
// O(passes x steps x active flows). See: tern_coll simulate, tests/unit/coll/simulate_test.cc.
#pragma once

#include <string>
#include <vector>

#include "coll/laboratory/simulate/topology.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll {

enum class SimulatedEngine : uint8_t { kHost, kStream };

struct Simulation {
  SimulatedEngine engine = SimulatedEngine::kHost;
  double bytes = 0;  // of the vector or of a block
  double chunk = 0;  // bytes of a block per pass; 0: one pass
  /// kStream: finds the fastest number of passes with chunks of at least this size, within a
  /// stream's queue (64 passes, 512 steps of a rank).
  bool fit = false;
};

struct Simulated {
  double time = 0;  // us
  int32_t passes = 1;
  int32_t busiest = -1;  // link; -1: no link carried data
  double share = 0;      // of the busiest link's bandwidth, over all the time
  /// By link.
  std::vector<double> carried;
};

/// `all[r]` is rank r's schedule from an algorithm, run on GPU r; kStream lowers it. Throws
/// tern::Error: too few GPUs, not lowered, never completes.
[[nodiscard]] Simulated simulate(const std::vector<Schedule>& all, const Topology& topology,
                                 const Simulation& what);

/// GB/s as in nccl-tests, comparable with link bandwidth for any rank count: the minimum bytes sent
/// or received by a rank, per time. 0 for barriers.
[[nodiscard]] double bus_bandwidth(const Schedule& any, double bytes, double time);

}  // namespace tern::coll
