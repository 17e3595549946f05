// SPDX-License-Identifier: Apache-2.0
// Copies between pageable host memory and a device, in a stream of the application.
// Why: cuMemcpyAsync of pageable memory returns only after all earlier work of the stream, such as
// waits for other ranks (CUDA Driver API, "API synchronization behavior"). Here a host function in
// the stream copies through pinned memory, and the call returns at once, also during a capture.
// Threads: as Job.
#pragma once

#include <cstddef>

#include "cuda/streams.hpp"

namespace tern::cuda {

class Job;

struct Rows {
  std::byte* to;
  size_t to_pitch;
  const std::byte* from;
  size_t from_pitch, width, count;
};

/// Copies through `stage`, which later work in the stream may reuse. Returns false and begins
/// nothing if neither side is pageable. The job keeps the host functions' arguments.
[[nodiscard]] bool copy_staged(Job& job, const Stage& stage, const Rows& rows) noexcept;

}  // namespace tern::cuda
