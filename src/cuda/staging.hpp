// SPDX-License-Identifier: Apache-2.0
// Copies between pageable host memory and a device, in a stream of the application.
// Why: cuMemcpyAsync of pageable memory returns only after all earlier work of the stream, such as
// waits for other ranks. Here a host function in the stream copies between pageable and pinned
// memory, and the call returns at once, also during a capture.
// Source: CUDA Driver API, "API synchronization behavior".
// Threads: as Job. See: tests/gpu/mpi/stream_pageable.cc.
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

/// Copies through `stage`, which later work in the stream may reuse. False: neither side is
/// pageable, and nothing was begun. The job keeps the host functions' arguments.
[[nodiscard]] bool copy_staged(Job& job, const Stage& stage, const Rows& rows) noexcept;

}  // namespace tern::cuda
