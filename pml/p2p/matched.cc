// SPDX-License-Identifier: Apache-2.0
// Probes: what a receive would take. With a matched probe the message leaves its queue and waits
// for its own receive.
#include "core/peer.hpp"
#include "pml/p2p/p2p.hpp"

namespace tern::pml {
int P2p::iprobe(const Envelope& from, bool* found, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(channel_.progress);
  if (from.communicator->fate.dead_locked()) return from.communicator->fate.fail();
  const Message* message = matcher_.look_for(from);
  *found = message != nullptr;
  if (message != nullptr) *outcome = outcome_of(*message, from);
  return TERN_UNLIKELY(message == nullptr && peers_.is_lost(from)) ? peers_.require_reachable(from)
                                                                   : MPI_SUCCESS;
}

int P2p::probe(const Envelope& from, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(channel_.progress);
  if (const int code = require_source(from); code != MPI_SUCCESS) return code;
  const Message* const message = matcher_.wait_for(from, peers_);
  if (TERN_UNLIKELY(message == nullptr)) return require_source(from);
  *outcome = outcome_of(*message, from);
  return MPI_SUCCESS;
}

int P2p::improbe(const Envelope& from, Matched** matched, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(channel_.progress);
  *matched = nullptr;
  if (from.communicator->fate.dead_locked()) return from.communicator->fate.fail();
  Message* message = matcher_.look_for(from);
  if (message != nullptr) return matcher_.take_out(from, *message, matched, outcome);
  return TERN_UNLIKELY(peers_.is_lost(from)) ? peers_.require_reachable(from) : MPI_SUCCESS;
}

int P2p::mprobe(const Envelope& from, Matched** matched, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(channel_.progress);
  if (const int code = require_source(from); code != MPI_SUCCESS) return code;
  Message* const message = matcher_.wait_for(from, peers_);
  if (TERN_UNLIKELY(message == nullptr)) return require_source(from);
  return matcher_.take_out(from, *message, matched, outcome);
}

int P2p::imrecv(const Buffer& buffer, Matched& matched, core::Request** request) noexcept {
  const core::ChannelLock lock(channel_.progress);
  core::Communicator& communicator = *matched.from.communicator;
  RecvRequest* const made = requests_.make_recv(buffer, matched.from);
  if (TERN_UNLIKELY(made == nullptr)) return MPI_ERR_NO_MEM;
  requests_.begin(*made);
  --communicator.pending;  // the request keeps it now
  matcher_.receive(*made, matched.message);
  process_.handles.erase(matched);
  matched.release();
  if (TERN_UNLIKELY(communicator.fate.dead_locked())) interrupt(communicator);
  *request = made;
  return MPI_SUCCESS;
}

}  // namespace tern::pml
