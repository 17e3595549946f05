// SPDX-License-Identifier: Apache-2.0
// InStream: a call of a team while it is put into a stream: behind what was put into other streams
// before, or as a part of a graph.
// Why: engines put different work into a stream, between the same first and last steps.
// Lifetime: of one call. Threads: the caller holds the team's mutex.
#pragma once

#include "base/error.hpp"
#include "coll/gpu/team.hpp"
#include "cuda/device.hpp"

namespace tern::coll {

class InStream {
 public:
  InStream(GpuTeam& team, cuda::Job& job) noexcept
      : team_(team), job_(job), current_(team.memory.device()) {
    job.note("cuCtxPushCurrent", current_.result());
    captured_ = job.borrowed() && team.calls.is_captured(job.stream());
    if (captured_)
      team.pin();
    else
      job.note("cuStreamWaitEvent", team.calls.begin(job.stream()));
  }
  InStream(const InStream&) = delete;
  InStream& operator=(const InStream&) = delete;

  [[nodiscard]] bool captured() const noexcept { return captured_; }
  [[nodiscard]] Failure end(Collective what);

 private:
  GpuTeam& team_;
  cuda::Job& job_;
  const cuda::Current current_;
  bool captured_ = false;
};

}  // namespace tern::coll
