// SPDX-License-Identifier: Apache-2.0
// The input and the result of a simulation.
#pragma once

#include <cstdint>
#include <vector>

namespace tern::coll {

enum class SimulatedEngine : uint8_t { kHost, kStream };

struct Simulation {
  SimulatedEngine engine = SimulatedEngine::kHost;
  double bytes = 0;
  double chunk = 0;  // block bytes per pass; 0: one pass
  /// kStream: `fit` tries 1, 2, 4, ... passes and keeps the fastest number. The passes have about
  /// `chunk` bytes of a block or more, and fit a stream's queue (64 passes, 512 steps of a rank).
  bool fit = false;
  bool whole = false;  // every rank runs, as a check of the classes
};

struct Simulated {
  double time = 0;  // us
  int32_t passes = 1;
  int32_t classes = 0;   // of ranks
  int32_t busiest = -1;  // link; -1: none
  double share = 0;      // share of the busiest link's bandwidth
  std::vector<double> carried;
};

}  // namespace tern::coll
