// SPDX-License-Identifier: Apache-2.0
// Workload: the ordered collectives of a program, printed by tern_trace --workload, and predicted
// times. A line has a collective, bytes (of the vector or of one block), ranks,
// communicator, root (- without) and microseconds of computation before; # starts a comment.
//
// Model: calls follow one another; a communicator's ranks are the first GPUs; a call takes its
// quickest row. Above kMostWithAllRows ranks only rows with a symmetry compete (coll/algorithms).
// Pipelines of more than 24 passes are continued from 12 and 24. Irregular forms count as regular,
// with blocks of the given bytes; neighbourhoods are left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/topology/topology.hpp"

namespace tern::coll {

inline constexpr int32_t kMostWithAllRows = 64;

struct WorkloadCall {
  Collective collective;
  double bytes;
  int32_t ranks;
  int32_t root;  // 0 without
  double gap;    // us of computation before
};

/// Throws tern::Error with `name`, line and fault.
[[nodiscard]] std::vector<WorkloadCall> parse_workload(const std::string& text,
                                                       const std::string& name);
[[nodiscard]] std::vector<WorkloadCall> load_workload(const std::string& name);

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

/// Throws tern::Error if GPUs are too few.
[[nodiscard]] PredictedWorkload predict(const std::vector<WorkloadCall>& calls,
                                        const Topology& topology);

}  // namespace tern::coll
