// SPDX-License-Identifier: Apache-2.0
// place: the GPU of each rank with the least simulated time of a workload's step, by annealing:
// swaps of two ranks, or of a rank with a free GPU, and of two hosts. Calls keep the quickest rows
// of the order of ranks; at the end rows are chosen again.
// Cost: simulations of the groups that swaps touch, up to PlaceSettings::most_work steps.
// See: Jia, Zaharia, Aiken 2019 (FlexFlow: MCMC with simulated steps).
#pragma once

#include <cstdint>
#include <vector>

#include "coll/laboratory/simulate/predict.hpp"

namespace tern::coll {

inline constexpr int32_t kMostPlacedRanks = 8192;

struct PlaceSettings {
  int seeds = 8;
  double alpha = 0.05;  // first temperature, a share of the step; doubles with each seed
  int64_t most_work = 12'000'000;
};

struct Placement {
  std::vector<int32_t> places;      // GPU of each rank
  PredictedWorkload before, after;  // ranks in order; placed: never slower
  int64_t tried = 0;                // placements
};

/// The same result on each machine and run. Throws tern::Error if GPUs are too few, or ranks more
/// than kMostPlacedRanks.
[[nodiscard]] Placement place(const Workload& workload, const Topology& topology,
                              const PlaceSettings& settings = {});

}  // namespace tern::coll
