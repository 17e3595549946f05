// SPDX-License-Identifier: Apache-2.0
// TeamCollectives: the executor of blocking collectives of memory on devices whose ranks are a
// team. Why: small data takes one kernel on each device, instead of two copies through the host.
// Order: only a rank itself knows where its data lies, and all ranks must use the same executor.
// The first epoch of the slots tells. All ranks are in the call then, and no kernel waits for a
// program.
// Lifetime: Coll. Threads: under the channel's lock.
// See: coll/gpu/README.md.
#pragma once

#include "coll/blocking_call.hpp"
#include "coll/context.hpp"
#include "coll/shared_collectives.hpp"
#include "coll/stream_collectives.hpp"

namespace tern::coll {

class TeamCollectives {
 public:
  TeamCollectives(Context& context, SharedCollectives& shared, StreamCollectives& streams) noexcept
      : context_(context), shared_(shared), streams_(streams) {}

  // As the executors of SharedCollectives.
  [[nodiscard]] const char* why_not(const BlockingCall& call) const noexcept;
  [[nodiscard]] bool run(BlockingCall& call);

 private:
  [[nodiscard]] bool run_together(BlockingCall& call, cuda::Job job);
  [[nodiscard]] cuda::Job job_for(CommState& state, const Operation& operation) noexcept;
  [[nodiscard]] bool becomes_quiet(CommState& state, cuda::Device& device) noexcept;
  [[nodiscard]] bool has_own_team(CommState& state, cuda::Device& device);
  void await_team(CommState& state, const Operation& operation, cuda::Job& job, uint32_t call);
  [[noreturn]] TERN_COLD void leave_team(CommState& state, cuda::Job& job, const Failure& why);

  Context& context_;
  SharedCollectives& shared_;
  StreamCollectives& streams_;
};

}  // namespace tern::coll
