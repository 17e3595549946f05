// SPDX-License-Identifier: Apache-2.0
// Persistence, restart, cancelling and recycling of requests.
#include "base/error.hpp"
#include "pml/p2p/p2p.hpp"

namespace tern::pml {

int P2p::send_init(const Buffer& buffer, const Envelope& to, Mode mode,
                   core::Request** request) noexcept {
  const core::ChannelLock lock(engine.channel.progress);
  if (to.communicator->fate.dead_locked()) return to.communicator->fate.fail();
  SendRequest* const made = engine.requests.make_send(buffer, to, mode);
  if (TERN_UNLIKELY(made == nullptr)) return MPI_ERR_NO_MEM;
  made->set_persistent(true);
  keep_for_restart(buffer, *to.communicator);
  made->complete();
  *request = made;
  return MPI_SUCCESS;
}

int P2p::recv_init(const Buffer& buffer, const Envelope& from, core::Request** request) noexcept {
  const core::ChannelLock lock(engine.channel.progress);
  if (from.communicator->fate.dead_locked()) return from.communicator->fate.fail();
  RecvRequest* const made = engine.requests.make_recv(buffer, from);
  if (TERN_UNLIKELY(made == nullptr)) return MPI_ERR_NO_MEM;
  made->set_persistent(true);
  keep_for_restart(buffer, *from.communicator);
  made->complete();
  *request = made;
  return MPI_SUCCESS;
}

bool P2p::repeats(const core::Request& request, Repeated* what) const noexcept {
  if (!request.persistent()) return false;
  if (const auto* const send = dynamic_cast<const SendRequest*>(&request)) {
    *what = {send->buffer, send->to, send->mode, true};
    return true;
  }
  if (const auto* const receive = dynamic_cast<const RecvRequest*>(&request)) {
    *what = {receive->buffer, receive->from, Mode::kStandard, false};
    return true;
  }
  return false;
}

SendRequest::SendRequest(MessageEngine& owner) noexcept : engine(owner) {
  channel = &owner.channel;
  operation.owner = this;
}
RecvRequest::RecvRequest(MessageEngine& owner) noexcept : engine(owner) {
  channel = &owner.channel;
}

int SendRequest::start() noexcept {
  const core::ChannelLock lock(channel->progress);
  int error = MPI_SUCCESS;
  if (TERN_UNLIKELY(to.communicator->fate.dead_locked())) return to.communicator->fate.fail();
  peer = engine.peers.connected(*to.communicator, to.rank, &error);
  if (peer == nullptr) return error;
  forget_failure(*this);
  set_active(true);
  engine.sending.start(*this);
  return MPI_SUCCESS;
}
int RecvRequest::start() noexcept {
  const core::ChannelLock lock(channel->progress);
  if (const int code = engine.require_source(from); TERN_UNLIKELY(code != MPI_SUCCESS)) return code;
  forget_failure(*this);
  set_active(true);
  const int code = engine.start(*this);
  if (TERN_UNLIKELY(code != MPI_SUCCESS)) set_active(false);
  return code;
}

void SendRequest::cancel_locked() noexcept { engine.sending.cancel(*this); }
void RecvRequest::cancel_locked() noexcept { engine.matcher.cancel(*this); }
bool SendRequest::cancel() noexcept {
  const core::ChannelLock lock(channel->progress);
  cancel_locked();
  return true;
}
bool RecvRequest::cancel() noexcept {
  const core::ChannelLock lock(channel->progress);
  cancel_locked();
  return true;
}

void SendRequest::destroy() noexcept { engine.requests.recycle(*this); }
void RecvRequest::destroy() noexcept { engine.requests.recycle(*this); }

}  // namespace tern::pml
