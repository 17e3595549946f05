// SPDX-License-Identifier: Apache-2.0
// Order: all steps of an MSCCL file in one sequence. A step comes after the previous step of its
// thread block, the step named by `deps`, and the matching send.
#pragma once

#include <vector>

#include "coll/exchange/msccl_file.hpp"

namespace tern::coll {

struct MscclPlace {
  int32_t gpu, block, step;
};

/// Independent steps are neighbours. Throws tern::Error (MPI_ERR_ARG) with a step of a cycle.
[[nodiscard]] std::vector<MscclPlace> order_msccl(const MscclFile& file);

}  // namespace tern::coll
