// SPDX-License-Identifier: Apache-2.0
// Probes. A matched probe removes the message from the queue.
#include "core/peer.hpp"
#include "pml/p2p/p2p.hpp"

namespace tern::pml {
int P2p::iprobe(const Envelope& from, bool* found, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(engine.channel.progress);
  if (from.communicator->fate.dead_locked()) return from.communicator->fate.fail();
  const Message* message = engine.matcher.look_for(from);
  *found = message != nullptr;
  if (message != nullptr) *outcome = outcome_of(*message, from);
  return TERN_UNLIKELY(message == nullptr && engine.peers.is_lost(from))
             ? engine.require_message(from)
             : MPI_SUCCESS;
}

int P2p::probe(const Envelope& from, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(engine.channel.progress);
  if (const int code = engine.require_message(from); code != MPI_SUCCESS) return code;
  const Message* const message = engine.matcher.wait_for(from, engine.peers);
  if (TERN_UNLIKELY(message == nullptr)) return engine.require_message(from);
  *outcome = outcome_of(*message, from);
  return MPI_SUCCESS;
}

int P2p::improbe(const Envelope& from, Matched** matched, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(engine.channel.progress);
  *matched = nullptr;
  if (from.communicator->fate.dead_locked()) return from.communicator->fate.fail();
  Message* message = engine.matcher.look_for(from);
  if (message != nullptr) return engine.matcher.take_out(from, *message, matched, outcome);
  return TERN_UNLIKELY(engine.peers.is_lost(from)) ? engine.require_message(from) : MPI_SUCCESS;
}

int P2p::mprobe(const Envelope& from, Matched** matched, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(engine.channel.progress);
  if (const int code = engine.require_message(from); code != MPI_SUCCESS) return code;
  Message* const message = engine.matcher.wait_for(from, engine.peers);
  if (TERN_UNLIKELY(message == nullptr)) return engine.require_message(from);
  return engine.matcher.take_out(from, *message, matched, outcome);
}

int P2p::imrecv(const Buffer& buffer, Matched& matched, core::Request** request) noexcept {
  const core::ChannelLock lock(engine.channel.progress);
  core::Communicator& communicator = *matched.from.communicator;
  RecvRequest* const made = engine.requests.make_recv(buffer, matched.from);
  if (TERN_UNLIKELY(made == nullptr)) return MPI_ERR_NO_MEM;
  engine.requests.begin(*made);
  --communicator.pending;
  engine.matcher.receive(*made, matched.message);
  engine.process.handles.erase(matched);
  matched.release();
  if (TERN_UNLIKELY(communicator.fate.dead_locked()))
    interrupt(communicator, communicator.fate.reason());
  *request = made;
  return MPI_SUCCESS;
}

}  // namespace tern::pml
