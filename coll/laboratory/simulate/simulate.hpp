// SPDX-License-Identifier: Apache-2.0
// simulate: how long a collective would take on a topology, and what would be busiest.
// Why: which algorithm to take on a machine that is not at hand is argued by a model that says what
// it models, before it can be measured. It is no measurement, and knows nothing of what it leaves
// out: launches, protocols, other traffic.
//
// Model. Messages and puts take the latency of their route, then share its links fairly with all
// else under way (network.hpp); what one rank has for another goes one after the other. What they
// read and write loads the memory of both GPUs, as copies and reductions do. Engine kHost: lanes as
// they are, three passes at once (as engine_host has); a message begins when both ends are there.
// Engine kStream: lowered schedules (coll/lower), each pass one queue of steps, two passes at once,
// one for each half of the inbox; ranks with a network between them send messages. A signal behind
// a put comes with it; others take the latency. Units: us, bytes. Cost: of the order of passes x
// steps x what is under way. Threads: none shared. See: tern_coll simulate,
// tests/unit/coll/simulate_test.cc.
#pragma once

#include <string>
#include <vector>

#include "coll/laboratory/simulate/topology.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll {

enum class SimulatedEngine : uint8_t { kHost, kStream };

struct Simulation {
  SimulatedEngine engine = SimulatedEngine::kHost;
  double bytes = 0;  // of the vector, or of one block of the others
  double chunk = 0;  // bytes of a block in one pass; 0: everything in one
  /// kStream: the quickest number of passes with chunks of at least this size, within what a
  /// stream's queue may hold (64 passes, 512 steps of a rank).
  bool fit = false;
};

struct Simulated {
  double time = 0;  // us
  int32_t passes = 1;
  int32_t busiest = -1;  // link; -1: no link has carried anything
  double share = 0;      // of the busiest link's bandwidth, over the whole time
  /// What it carried, by link.
  std::vector<double> carried;
};

/// `all[r]` is rank r's schedule as an algorithm emits it; it runs on GPU r. For kStream it is
/// lowered here. Throws tern::Error: too few GPUs, not lowered, never completes.
[[nodiscard]] Simulated simulate(const std::vector<Schedule>& all, const Topology& topology,
                                 const Simulation& what);

/// GB/s as nccl-tests count them, comparable with a link's bandwidth whatever the ranks: what each
/// rank has to send or receive at least, in the time. 0 for barriers.
[[nodiscard]] double bus_bandwidth(const Schedule& any, double bytes, double time);

}  // namespace tern::coll
