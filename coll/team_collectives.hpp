// SPDX-License-Identifier: Apache-2.0
// TeamCollectives: the executor of blocking collectives of device memory on a team of GPUs. Order:
// a rank knows the placement of its own data alone, so the first epoch of the slots exchanges
// placements. Afterwards all ranks are in the call, and no kernel waits for a program.
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
