// SPDX-License-Identifier: Apache-2.0
// StreamCalls: the driver calls of the stream engine (stream_run.hpp), counted without a device.
#pragma once

#include "coll/gpu/pieces.hpp"

namespace tern::coll {

struct StreamCalls {
  MPI_Count passes = 0;
  MPI_Count calls = 0;
  MPI_Count copies = 0, kernels = 0, waits = 0;  // work items; waits are per semaphore
};

[[nodiscard]] StreamCalls stream_calls(const Placed& placed, MPI_Count bytes, size_t scratch);

}  // namespace tern::coll
