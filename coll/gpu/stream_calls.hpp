// SPDX-License-Identifier: Apache-2.0
// StreamCalls: the driver calls of the stream engine (stream_run.hpp), counted without a device.
// Why: calls and the starts of small copies bound the engine's speed, and can be told for any
// machine. A test compares the numbers with calls of the software driver
// (tests/gpu/mpi/stream_calls.cc).
#pragma once

#include "coll/gpu/pieces.hpp"

namespace tern::coll {

struct StreamCalls {
  MPI_Count passes = 0;
  MPI_Count calls = 0;                           // that put work into streams
  MPI_Count copies = 0, kernels = 0, waits = 0;  // the work of these: waits are for words
};

/// `bytes` of the vector, or of a block, of a type of 4 bytes, dense in device memory; `scratch` as
/// TERN_GPU_SCRATCH tells it.
[[nodiscard]] StreamCalls stream_calls(const Placed& placed, MPI_Count bytes, size_t scratch);

}  // namespace tern::coll
