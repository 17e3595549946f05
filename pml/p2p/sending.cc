// SPDX-License-Identifier: Apache-2.0
// Sending: starting, emitting and cancelling sends.
#include "pml/p2p/sending.hpp"

#include "base/error.hpp"
#include "core/channel.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "trace/recorder.hpp"

namespace tern::pml {
namespace {

TERN_COLD void note_rendezvous() noexcept {
  trace::OpenCall* const call = trace::open_call();
  if (call == nullptr) return;
  if (const auto kind = call->record.kind;
      kind == trace::RecordKind::kSend || kind == trace::RecordKind::kSendStart)
    call->record.flags |= trace::kRendezvous;
}

}  // namespace

void Sending::start(SendRequest& request, int lost) noexcept {
  requests_.begin(request, lost);
  if (TERN_UNLIKELY(request.peer->fate.dead_locked()))
    return requests_.fail(request, request.peer->fate);
  if (request.peer->first_waiting == nullptr && emit(request)) return;
  outbox_.enqueue(request);
}

bool Sending::emit(SendRequest& request) noexcept {
  PeerState& peer = *request.peer;
  const size_t bytes = request.transfer.bytes;
  const bool eager = Eager::viable(request);
  if (request.lost == MPI_SUCCESS)
    request.lost = eager ? eager_.prepare(request) : transfers_.prepare(request);
  if (TERN_UNLIKELY(request.lost != MPI_SUCCESS)) return transfers_.announce_lost(request);
  // A message to the own rank may complete inside emit, with the request gone on return.
  const bool complete = eager && request.mode != Mode::kSynchronous;
  if (!complete) request.notes.matched_ns = 0;
  if (!(eager ? eager_.emit(request) : transfers_.announce(request))) return false;
  peer.sent.count(bytes, eager);
  if (complete)
    requests_.finish(request, MPI_SUCCESS);
  else if (trace::is_on())
    note_rendezvous();
  return true;
}

void Sending::cancel(SendRequest& request) noexcept {
  if (request.done()) return;
  if (outbox_.remove(request)) {
    request.outcome.cancelled = true;
    requests_.finish(request, MPI_SUCCESS);
    if (channel_.process.threaded()) channel_.progress.wake();
  } else if (!request.transfer.polled) {
    outbox_.send_control(*request.peer, wire::kWithdraw, wire::Withdraw{request.handle()});
  }
}

}  // namespace tern::pml
