// SPDX-License-Identifier: Apache-2.0
// P2p: blocking and nonblocking calls.
#include "pml/p2p/p2p.hpp"

#include <algorithm>
#include <cstring>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "core/peer.hpp"
#include "mpix.h"
#include "trace/recorder.hpp"

namespace tern::pml {
namespace {

constexpr int kPollsBetweenRounds = 64;  // polls of one ring per round over all transports

// A rank that only sends must still read the receiver's Pace messages.
void look_now_and_then(uint32_t* sends, core::Progress& progress) noexcept {
  constexpr uint32_t kSendsBetweenLooks = 63;
  if (TERN_UNLIKELY((++*sends & kSendsBetweenLooks) == 0)) progress.poll();
}

int wait_for(core::Request& request, core::Progress& progress, core::Outcome* outcome) noexcept {
  progress.wait([&request] { return request.done(); },
                [&request](WaitReport* report) { request.describe(report); });
  const int error = request.outcome.error;
  if (outcome != nullptr) *outcome = request.outcome;
  if (trace::is_on()) trace::last_matched() = {request.notes.message, request.notes.matched_ns};
  const int code = TERN_LIKELY(error == MPI_SUCCESS)
                       ? MPI_SUCCESS
                       : fail(error, "%s",
                              request.error_text == nullptr ? "the operation failed"
                                                            : request.error_text->c_str());
  request.release();
  return code;
}

TERN_COLD void note_match(const Envelope& from, int tag, bool waited) noexcept {
  trace::CommNotes* const notes = from.communicator->notes.get();
  if (from.plane != Plane::kUser || notes == nullptr) return;
  trace::last_matched() = {notes->received.next(from.rank, tag), waited ? trace::now() : 0};
}

}  // namespace

int P2p::send(const Buffer& given, const Envelope& to, Mode mode) noexcept {
  const core::ChannelLock lock(engine.channel.progress);
  if (TERN_UNLIKELY(to.communicator->fate.dead_locked())) return to.communicator->fate.fail();
  const Buffer buffer = core::with_kind(given);
  look_now_and_then(&sends_since_look_, engine.channel.progress);
  int error = MPI_SUCCESS;
  PeerState* peer = engine.peers.connected(*to.communicator, to.rank, &error);
  if (TERN_UNLIKELY(peer == nullptr)) return error;
  const size_t bytes = buffer.bytes();
  if (TERN_LIKELY(mode != Mode::kSynchronous && engine.eager.send_now(*peer, buffer, to, bytes)))
    return MPI_SUCCESS;
  SendRequest* const request = engine.requests.make_send(buffer, to, mode);
  if (TERN_UNLIKELY(request == nullptr)) return MPI_ERR_NO_MEM;
  request->peer = peer;
  engine.sending.start(*request);
  return wait_for(*request, engine.channel.progress, nullptr);
}

int P2p::recv(const Buffer& given, const Envelope& from, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(engine.channel.progress);
  if (TERN_UNLIKELY(from.communicator->fate.dead_locked())) return from.communicator->fate.fail();
  const Buffer buffer = core::with_kind(given);
  if (from.rank != MPI_ANY_SOURCE && !engine.matcher.has_posted() && !engine.outbox.is_signing() &&
      !buffer.on_device()) {
    int error = MPI_SUCCESS;
    PeerState* peer = engine.peers.connected(*from.communicator, from.rank, &error);
    if (TERN_UNLIKELY(peer == nullptr)) return error;
    if (btl::FrameQueue* const queue = peer->endpoint->caps.queue; TERN_LIKELY(queue != nullptr)) {
      error = recv_at_once(buffer, from, *queue, outcome);
      if (TERN_LIKELY(error != MPI_ERR_PENDING)) return error;
    }
  }
  if (const int code = engine.require_source(from); TERN_UNLIKELY(code != MPI_SUCCESS)) return code;
  RecvRequest* const request = engine.requests.make_recv(buffer, from);
  if (TERN_UNLIKELY(request == nullptr)) return MPI_ERR_NO_MEM;
  request->blocking = true;
  if (const int code = engine.start(*request); TERN_UNLIKELY(code != MPI_SUCCESS)) return code;
  return wait_for(*request, engine.channel.progress, outcome);
}

// MPI_ERR_PENDING means that the caller needs a request: the matcher is not empty, or the wait is
// long.
int P2p::recv_at_once(const Buffer& buffer, const Envelope& from, btl::FrameQueue& queue,
                      core::Outcome* outcome) noexcept {
  const uint32_t context = context_of(from);
  btl::Frame frame;
  for (uint32_t rounds = 0;; ++rounds) {
    if (!engine.matcher.empty()) return MPI_ERR_PENDING;
    for (int polls = 0; polls < kPollsBetweenRounds; ++polls) {
      if (!queue.peek(&frame)) continue;
      const btl::Header& header = frame.header;
      if (header.kind != wire::kEager || header.context != context ||
          (header.tag != from.tag && from.tag != MPI_ANY_TAG) || !buffer.type->contiguous() ||
          header.bytes > buffer.bytes())
        return MPI_ERR_PENDING;
      copy_bytes(static_cast<std::byte*>(buffer.address) + buffer.type->true_lb(), frame.payload,
                 header.bytes);
      if (outcome != nullptr) *outcome = {from.rank, header.tag, MPI_SUCCESS, false, header.bytes};
      engine.requests.count_received();
      if (trace::is_on()) note_match(from, header.tag, rounds + static_cast<uint32_t>(polls) > 0);
      queue.pop();
      return MPI_SUCCESS;
    }
    if (rounds * kPollsBetweenRounds >= engine.channel.progress.spins() ||
        engine.channel.progress.mutex.wanted())
      return MPI_ERR_PENDING;
    engine.channel.progress.poll();
  }
}

int P2p::isend_locked(const Buffer& buffer, const Envelope& to, core::Request** request) noexcept {
  return isend_held(buffer, to, Mode::kStandard, request);
}

int P2p::isend_lost_locked(const Buffer& buffer, const Envelope& to, int error,
                           core::Request** request) noexcept {
  int code = MPI_SUCCESS;
  if (TERN_UNLIKELY(to.communicator->fate.dead_locked())) return to.communicator->fate.fail();
  PeerState* peer = engine.peers.connected(*to.communicator, to.rank, &code);
  if (peer == nullptr) return code;
  SendRequest* const made = engine.requests.make_send(buffer, to, Mode::kStandard);
  if (TERN_UNLIKELY(made == nullptr)) return MPI_ERR_NO_MEM;
  made->peer = peer;
  engine.sending.start(*made, error);
  *request = made;
  return MPI_SUCCESS;
}

int P2p::irecv_locked(const Buffer& buffer, const Envelope& from,
                      core::Request** request) noexcept {
  if (const int code = engine.require_source(from); TERN_UNLIKELY(code != MPI_SUCCESS)) return code;
  RecvRequest* const made = engine.requests.make_recv(buffer, from);
  if (TERN_UNLIKELY(made == nullptr)) return MPI_ERR_NO_MEM;
  const int code = engine.start(*made);
  if (TERN_LIKELY(code == MPI_SUCCESS)) *request = made;
  return code;
}

btl::Endpoint* P2p::endpoint(core::Communicator& of, int rank, int* error) noexcept {
  const PeerState* const peer = engine.peers.connected(of, rank, error);
  if (peer == nullptr) return nullptr;
  if (!peer->fate.dead_locked()) return peer->endpoint;
  *error = peer->fate.fail();
  return nullptr;
}

int P2p::irecv(const Buffer& buffer, const Envelope& from, core::Request** request) noexcept {
  const core::ChannelLock lock(engine.channel.progress);
  const int code = irecv_locked(buffer, from, request);
  return TERN_LIKELY(code == MPI_SUCCESS) ? code : fail_later(code, buffer, from, request);
}

int P2p::isend(const Buffer& buffer, const Envelope& to, Mode mode,
               core::Request** request) noexcept {
  const core::ChannelLock lock(engine.channel.progress);
  look_now_and_then(&sends_since_look_, engine.channel.progress);
  const int code = isend_held(buffer, to, mode, request);
  return TERN_LIKELY(code == MPI_SUCCESS) ? code : fail_later(code, buffer, to, mode, request);
}

// A failed process or a revocation is an error of the completion, not of the start.
int P2p::fail_later(int code, const Buffer& buffer, const Envelope& to, Mode mode,
                    core::Request** request) noexcept {
  if (code != MPIX_ERR_PROC_FAILED && code != MPIX_ERR_REVOKED) return code;
  SendRequest* const made = engine.requests.make_send(buffer, to, mode);
  if (made == nullptr) return MPI_ERR_NO_MEM;
  engine.requests.begin(*made, MPI_SUCCESS);
  engine.requests.fail(*made, Failure{code, take_last_error().text});
  *request = made;
  return MPI_SUCCESS;
}

int P2p::fail_later(int code, const Buffer& buffer, const Envelope& from,
                    core::Request** request) noexcept {
  if (code != MPIX_ERR_PROC_FAILED && code != MPIX_ERR_REVOKED) return code;
  RecvRequest* const made = engine.requests.make_recv(buffer, from);
  if (made == nullptr) return MPI_ERR_NO_MEM;
  engine.requests.begin(*made);
  engine.requests.fail(*made, {code, take_last_error().text});
  *request = made;
  return MPI_SUCCESS;
}

int P2p::isend_held(const Buffer& given, const Envelope& to, Mode mode,
                    core::Request** request) noexcept {
  if (TERN_UNLIKELY(to.communicator->fate.dead_locked())) return to.communicator->fate.fail();
  const Buffer buffer = core::with_kind(given);
  int error = MPI_SUCCESS;
  PeerState* peer = engine.peers.connected(*to.communicator, to.rank, &error);
  if (TERN_UNLIKELY(peer == nullptr)) return error;
  SendRequest* const completed = engine.requests.completed_send();
  if (TERN_LIKELY(mode != Mode::kSynchronous && completed != nullptr &&
                  engine.eager.send_now(*peer, buffer, to, buffer.bytes()))) {
    completed->retain();
    *request = completed;
    return MPI_SUCCESS;
  }
  SendRequest* const made = engine.requests.make_send(buffer, to, mode);
  if (TERN_UNLIKELY(made == nullptr)) return MPI_ERR_NO_MEM;
  made->peer = peer;
  engine.sending.start(*made);
  *request = made;
  return MPI_SUCCESS;
}

bool P2p::offer(cuda::Device& device, const void* address, size_t bytes,
                MemoryHandle* handle) noexcept {
  return engine.devices.offer(device, cuda::look_up(address), address, bytes, handle);
}

void P2p::add_up(const core::Communicator* of, Statistics* sums) const noexcept {
  engine.peers.add_up(sums);
  sums->received += engine.requests.received();
  engine.matcher.add_up(of, sums);
}

}  // namespace tern::pml
