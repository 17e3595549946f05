// SPDX-License-Identifier: Apache-2.0
// Lanes: a team's second stream, for every second pass of an operation. The stream forks from the
// caller's stream at the start and joins at the end.
// Each lane has its own regions and semaphores. Captured calls use no second lane: the driver may
// serialize branches of a graph in different orders on different ranks.
// Lifetime: the team's; created with the team's memory, never in a call.
// Threads: the caller holds the team's mutex, and the context is current.
#pragma once

#include "cuda/device.hpp"

namespace tern::coll {

class Lanes {
 public:
  explicit Lanes(cuda::Device& device) noexcept : device_(device) {}
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  void prepare() noexcept;
  void end() noexcept;

  /// fork() returns the second stream, ordered behind the caller's stream, or null.
  [[nodiscard]] CUstream fork(CUstream callers) noexcept;
  [[nodiscard]] CUresult join(CUstream callers) noexcept;

 private:
  cuda::Device& device_;
  cuda::Stream* stream_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
};

}  // namespace tern::coll
