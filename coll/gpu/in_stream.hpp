// SPDX-License-Identifier: Apache-2.0
// InStream: the scope of a team's call in a stream. The call follows the team's earlier calls in
// other streams, or becomes part of a graph.
// Threads: the caller holds the team's mutex, and no channel lock, because driver calls wait for
// the device on a full launch queue, and the device waits for other ranks.
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
