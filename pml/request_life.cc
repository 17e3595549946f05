// SPDX-License-Identifier: Apache-2.0
// The life of requests beside their transfer: persistence, restart, cancelling, return to the pool.
#include "base/error.hpp"
#include "pml/p2p.hpp"

namespace tern::pml {

int P2p::send_init(const Buffer& buffer, const Envelope& to, Mode mode,
                   core::Request** request) noexcept {
  const core::ChannelLock lock(channel_.progress);
  SendRequest& made = requests_.make_send(buffer, to, mode);
  made.set_persistent(true);
  keep_for_restart(buffer, *to.communicator);
  made.complete();
  *request = &made;
  return MPI_SUCCESS;
}

int P2p::recv_init(const Buffer& buffer, const Envelope& from, core::Request** request) noexcept {
  const core::ChannelLock lock(channel_.progress);
  RecvRequest& made = requests_.make_recv(buffer, from);
  made.set_persistent(true);
  keep_for_restart(buffer, *from.communicator);
  made.complete();
  *request = &made;
  return MPI_SUCCESS;
}

int P2p::restart(SendRequest& request) noexcept {
  const core::ChannelLock lock(channel_.progress);
  int error = MPI_SUCCESS;
  request.peer = peers_.connected(*request.to.communicator, request.to.rank, &error);
  if (request.peer == nullptr) return error;
  forget_failure(request);
  request.set_active(true);
  start(request);
  return MPI_SUCCESS;
}

int P2p::restart(RecvRequest& request) noexcept {
  const core::ChannelLock lock(channel_.progress);
  forget_failure(request);
  request.set_active(true);
  matcher_.start(request);
  return MPI_SUCCESS;
}

// What was not sent yet is taken back here; what waits at the receiver, there, and the answer
// completes the request. A message that has its receive completes as if nothing had been asked.
void P2p::cancel(SendRequest& request) noexcept {
  if (request.done()) return;
  if (outbox_.remove(request)) {
    request.outcome.cancelled = true;
    requests_.finish(request, MPI_SUCCESS);
    if (process_.threaded()) channel_.progress.wake();
  } else if (!request.transfer.polled) {
    outbox_.send_control(*request.peer, wire::kWithdraw, wire::Withdraw{request.handle()});
  }
}

void P2p::cancel(RecvRequest& request) noexcept {
  if (request.done() || !matcher_.cancel(request)) return;
  request.outcome = {};
  request.outcome.cancelled = true;
  requests_.finish(request, MPI_SUCCESS);
  if (process_.threaded()) channel_.progress.wake();  // another thread may wait for it
}

SendRequest::SendRequest(P2p& owner) noexcept : pml(owner) { channel = &owner.channel(); }
RecvRequest::RecvRequest(P2p& owner) noexcept : pml(owner) { channel = &owner.channel(); }
int SendRequest::start() noexcept { return pml.restart(*this); }
void SendRequest::destroy() noexcept { pml.requests().recycle(*this); }
int RecvRequest::start() noexcept { return pml.restart(*this); }
void SendRequest::cancel_locked() noexcept { pml.cancel(*this); }
void RecvRequest::cancel_locked() noexcept { pml.cancel(*this); }
void SendRequest::cancel() noexcept {
  const core::ChannelLock lock(pml.channel().progress);
  cancel_locked();
}
void RecvRequest::cancel() noexcept {
  const core::ChannelLock lock(pml.channel().progress);
  cancel_locked();
}
void RecvRequest::destroy() noexcept { pml.requests().recycle(*this); }

}  // namespace tern::pml
