// SPDX-License-Identifier: Apache-2.0
// predict: times of a workload's calls on a model of a machine.
//
// Model: calls follow one another; groups of a call run at once; a call takes its quickest row.
// Groups of more than kMostWithAllRows ranks have only rows with a symmetry (coll/algorithms).
// Pipelines of more than kMostWorkloadPasses passes are continued. Irregular forms count as
// regular, with blocks of the given bytes; neighbourhoods are left out.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/laboratory/simulate/workload.hpp"
#include "coll/topology/topology.hpp"

namespace tern::coll {

inline constexpr int32_t kMostWithAllRows = 64;
inline constexpr int32_t kMostWorkloadPasses = 24;

struct PredictedCall {
  WorkloadCall call;
  int64_t count = 0;
  const Algorithm* row = nullptr;  // null: not modelled
  double time = 0;                 // us, each
};
struct PredictedWorkload {
  std::vector<PredictedCall> calls;           // different ones, by time in all
  double computation = 0, communication = 0;  // us
  int64_t left_out = 0;                       // calls without a row
};

/// Whether the model considers the row for groups of `ranks`.
[[nodiscard]] bool competes(const Algorithm& row, int32_t ranks);
/// Rank r is on GPU places[r], on GPU r without places. Throws tern::Error if GPUs are too few.
[[nodiscard]] PredictedWorkload predict(const Workload& workload, const Topology& topology,
                                        const std::vector<int32_t>& places = {});

}  // namespace tern::coll
