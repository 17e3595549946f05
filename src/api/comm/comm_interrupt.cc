// SPDX-License-Identifier: Apache-2.0
#include "api/comm/comm_interrupt.hpp"

#include "api/process.hpp"
#include "coll/coll.hpp"
#include "core/communicator.hpp"
#include "pml/pml.hpp"
#include "stream/comm_stream.hpp"

namespace tern::api {

// Interrupted collectives end in a later progress round.
int comm_interrupt(core::Communicator& comm) noexcept {
  core::Channel& channel = comm.channel();
  const core::ChannelLock lock(channel.progress);
  if (comm.fate.dead()) return MPI_SUCCESS;
  ++comm.pending;  // keeps the communicator while its operations end
  channel.pml->interrupt(comm);
  if (comm.side) channel.pml->interrupt(*comm.side);
  channel.coll->interrupt(comm);
  if (const stream::CommStream* const state = stream::of(comm)) {
    const auto interrupt = [&](const stream::CommStream& one) {
      channel.pml->interrupt(one.shadow());
      channel.coll->interrupt(one.shadow());
    };
    interrupt(*state);
    if (state->islands() != nullptr) {
      interrupt(*state->islands()->here);
      interrupt(*state->islands()->across);
    }
  }
  channel.progress.poll();
  channel.progress.wake();
  comm.operation_ended();
  return MPI_SUCCESS;
}

}  // namespace tern::api
