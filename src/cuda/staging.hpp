// SPDX-License-Identifier: Apache-2.0
// Staging: copies between pageable host memory and a device, in a stream of the application.
// Why: cuMemcpyAsync of pageable memory returns only after the copy, hence after all earlier work
// of the stream, such as waits for other ranks. Here a host function in the stream moves the bytes
// between pageable and pinned memory. The call returns at once, also during a capture.
// Source: CUDA Driver API, "API synchronization behavior".
// Threads: those of Job. See: tests/gpu/mpi/stream_pageable.cc.
#pragma once

#include <cstddef>

#include "cuda/streams.hpp"

namespace tern::cuda {

class Job;

/// `count` rows of `width` bytes.
struct Rows {
  std::byte* to;
  size_t to_pitch;
  const std::byte* from;
  size_t from_pitch, width, count;
};

/// Copies through `stage`; later work in the stream may use the stage again. False if neither side
/// is pageable: then nothing was begun. The job keeps the arguments of host functions.
[[nodiscard]] bool copy_staged(Job& job, const Stage& stage, const Rows& rows) noexcept;

}  // namespace tern::cuda
