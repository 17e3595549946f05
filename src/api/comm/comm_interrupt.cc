// SPDX-License-Identifier: Apache-2.0
#include "api/comm/comm_interrupt.hpp"

#include "api/process.hpp"
#include "coll/coll.hpp"
#include "core/communicator.hpp"
#include "pml/pml.hpp"
#include "stream/comm_stream.hpp"

namespace tern::api {

void break_off(core::Communicator& comm, const Failure& why) noexcept {
  core::Channel& channel = comm.channel();
  channel.pml->interrupt(comm, why);
  if (comm.side) channel.pml->interrupt(*comm.side, why);
  channel.coll->interrupt(comm);
  if (const stream::CommStream* const state = stream::of(comm)) {
    const auto interrupt = [&](const stream::CommStream& one) {
      channel.pml->interrupt(one.shadow(), why);
      channel.coll->interrupt(one.shadow());
    };
    interrupt(*state);
    if (state->islands() != nullptr) {
      interrupt(*state->islands()->here);
      interrupt(*state->islands()->across);
    }
  }
  channel.progress.wake();
}

// Interrupted collectives end in a later progress round.
int comm_interrupt(core::Communicator& comm) noexcept {
  core::Channel& channel = comm.channel();
  const core::ChannelLock lock(channel.progress);
  if (comm.fate.dead()) return MPI_SUCCESS;
  ++comm.pending;  // keeps the communicator while its operations end
  break_off(comm, failure(MPI_ERR_OTHER,
                          "%s was interrupted on this rank by MPIX_Comm_interrupt and is unusable",
                          comm.name.or_words("this communicator").c_str()));
  channel.progress.poll();
  comm.operation_ended();
  return MPI_SUCCESS;
}

}  // namespace tern::api
