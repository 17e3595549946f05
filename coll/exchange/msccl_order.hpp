// SPDX-License-Identifier: Apache-2.0
// Order: the steps of all GPUs of an MSCCL file in one sequence, where each step stands behind the
// step before it in its thread block, the step it depends on, and the send that it receives.
#pragma once

#include <vector>

#include "coll/exchange/msccl_file.hpp"

namespace tern::coll {

struct MscclPlace {
  int32_t gpu, block, step;
};

/// Steps that can run at the same time are neighbours. A cycle is refused (tern::Error,
/// MPI_ERR_ARG) with one of its steps.
[[nodiscard]] std::vector<MscclPlace> order_msccl(const MscclFile& file);

}  // namespace tern::coll
