// SPDX-License-Identifier: Apache-2.0
// Probes: what a receive would take. With a matched probe the message leaves its queue and waits
// for its own receive.
#include <new>

#include "base/error.hpp"
#include "core/peer.hpp"
#include "pml/p2p.hpp"

namespace tern::pml {
namespace {

core::Outcome describe(const Message& message, const Envelope& from) noexcept {
  const bool rts = message.header.kind == wire::kRts;
  return {source_of(from, *message.from, message.header), message.header.tag, MPI_SUCCESS, false,
          static_cast<MPI_Count>(rts ? message.rts.bytes : message.data.size())};
}

}  // namespace

int P2p::iprobe(const Envelope& from, bool* found, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(channel_.progress);
  const Message* message = matcher_.look_for(from);
  *found = message != nullptr;
  if (message != nullptr) *outcome = describe(*message, from);
  return MPI_SUCCESS;
}

int P2p::probe(const Envelope& from, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(channel_.progress);
  if (const int code = peers_.require_reachable(from); code != MPI_SUCCESS) return code;
  *outcome = describe(*matcher_.wait_for(from), from);
  return MPI_SUCCESS;
}

int P2p::take_out(const Envelope& from, Message& message, Matched** matched,
                  core::Outcome* outcome) noexcept {
  *matched = new (std::nothrow) Matched(from, message);
  if (*matched == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a message handle");
  *outcome = describe(message, from);
  matcher_.take_out(message);
  ++from.communicator->pending;
  process_.handles.insert(**matched);
  return MPI_SUCCESS;
}

int P2p::improbe(const Envelope& from, Matched** matched, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(channel_.progress);
  *matched = nullptr;
  Message* message = matcher_.look_for(from);
  return message == nullptr ? MPI_SUCCESS : take_out(from, *message, matched, outcome);
}

int P2p::mprobe(const Envelope& from, Matched** matched, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(channel_.progress);
  if (const int code = peers_.require_reachable(from); code != MPI_SUCCESS) return code;
  return take_out(from, *matcher_.wait_for(from), matched, outcome);
}

int P2p::imrecv(const Buffer& buffer, Matched& matched, core::Request** request) noexcept {
  const core::ChannelLock lock(channel_.progress);
  core::Communicator& communicator = *matched.from.communicator;
  RecvRequest& made = requests_.make_recv(buffer, matched.from);
  requests_.begin(made);
  --communicator.pending;  // the request keeps it now
  matcher_.receive(made, matched.message);
  process_.handles.erase(matched);
  matched.release();
  *request = &made;
  return MPI_SUCCESS;
}

}  // namespace tern::pml
