// SPDX-License-Identifier: Apache-2.0
// Matched probes: a message leaves its queue with the probe and waits for its own receive.
#include <new>

#include "base/error.hpp"
#include "core/peer.hpp"
#include "pml/p2p.hpp"

namespace tern::pml {

Matched* P2p::take_out(const Envelope& from, Message& message, core::Outcome* outcome) noexcept {
  auto* matched = new (std::nothrow) Matched(from, message);
  if (matched == nullptr) return nullptr;
  *outcome = describe(message, from);
  unexpected_.remove(message);
  ++from.communicator->pending;
  process_.handles.insert(*matched);
  return matched;
}

int P2p::improbe(const Envelope& from, Matched** matched, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(channel_.progress);
  *matched = nullptr;
  Message* message = look_for(from);
  if (message == nullptr) return MPI_SUCCESS;
  *matched = take_out(from, *message, outcome);
  return *matched == nullptr ? fail(MPI_ERR_NO_MEM, "no memory for a message handle") : MPI_SUCCESS;
}

int P2p::mprobe(const Envelope& from, Matched** matched, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(channel_.progress);
  Message* message = nullptr;
  if (const int code = wait_for(from, &message); code != MPI_SUCCESS) return code;
  *matched = take_out(from, *message, outcome);
  return *matched == nullptr ? fail(MPI_ERR_NO_MEM, "no memory for a message handle") : MPI_SUCCESS;
}

int P2p::imrecv(const Buffer& buffer, Matched& matched, core::Request** request) noexcept {
  const core::ChannelLock lock(channel_.progress);
  core::Communicator& communicator = *matched.from.communicator;
  RecvRequest& made = requests_.make_recv(buffer, matched.from);
  requests_.begin(made);
  --communicator.pending;  // the request keeps it now
  accept(made, matched.message);
  process_.handles.erase(matched);
  matched.release();
  *request = &made;
  return MPI_SUCCESS;
}

}  // namespace tern::pml
