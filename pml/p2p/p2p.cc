// SPDX-License-Identifier: Apache-2.0
// P2p: the calls of pml.hpp, and the requests behind them.
#include "pml/p2p/p2p.hpp"

#include <algorithm>
#include <cstring>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "core/peer.hpp"

namespace tern::pml {
namespace {

constexpr int kPollsBetweenRounds = 64;  // looks at one ring between two rounds over all transports

// A rank that only sends, and always finds room, must still hear that its receiver cannot follow.
void look_now_and_then(uint32_t* sends, core::Progress& progress) noexcept {
  constexpr uint32_t kSendsBetweenLooks = 63;
  if (TERN_UNLIKELY((++*sends & kSendsBetweenLooks) == 0)) progress.poll();
}

int wait_for(core::Request& request, core::Progress& progress, core::Outcome* outcome) noexcept {
  progress.wait([&request] { return request.done(); },
                [&request](WaitReport* report) { request.describe(report); });
  const int error = request.outcome.error;
  if (outcome != nullptr) *outcome = request.outcome;
  const int code = TERN_LIKELY(error == MPI_SUCCESS)
                       ? MPI_SUCCESS
                       : fail(error, "%s",
                              request.error_text == nullptr ? "the operation failed"
                                                            : request.error_text->c_str());
  request.release();
  return code;
}

}  // namespace

P2p::P2p(core::Channel& channel, P2p* first)
    : channel_(channel),
      process_(channel.process),
      transports_(process_, *this, channel.number,
                  first == nullptr ? nullptr : &first->transports_),
      devices_(process_),
      limits_(process_),
      peers_(process_, transports_, limits_),
      outbox_(channel),
      requests_(*this, channel),
      eager_(process_, outbox_, requests_),
      transfers_({channel, process_, limits_, devices_, outbox_, requests_}),
      sending_(channel, outbox_, requests_, eager_, transfers_),
      matcher_(channel, limits_, outbox_, requests_, eager_, transfers_) {
  channel_.progress.add([](void* self) noexcept { return static_cast<P2p*>(self)->progress(); },
                        this);
}

P2p::~P2p() { channel_.progress.remove(this); }

int P2p::progress() noexcept {
  int events = transports_.progress();
  if (TERN_UNLIKELY(!outbox_.empty())) events += outbox_.progress();
  if (TERN_UNLIKELY(!transfers_.empty())) events += transfers_.progress();
  devices_.look_after();
  return events;
}

int P2p::send(const Buffer& given, const Envelope& to, Mode mode) noexcept {
  const core::ChannelLock lock(channel_.progress);
  if (TERN_UNLIKELY(to.communicator->fate.dead_locked())) return to.communicator->fate.fail();
  const Buffer buffer = core::with_kind(given);
  look_now_and_then(&sends_since_look_, channel_.progress);
  int error = MPI_SUCCESS;
  PeerState* peer = peers_.connected(*to.communicator, to.rank, &error);
  if (TERN_UNLIKELY(peer == nullptr)) return error;
  const size_t bytes = buffer.bytes();
  if (TERN_LIKELY(mode != Mode::kSynchronous && eager_.send_now(*peer, buffer, to, bytes)))
    return MPI_SUCCESS;
  SendRequest* const request = requests_.make_send(buffer, to, mode);
  if (TERN_UNLIKELY(request == nullptr)) return MPI_ERR_NO_MEM;
  request->peer = peer;
  sending_.start(*request);
  return wait_for(*request, channel_.progress, nullptr);
}

int P2p::recv(const Buffer& given, const Envelope& from, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(channel_.progress);
  if (TERN_UNLIKELY(from.communicator->fate.dead_locked())) return from.communicator->fate.fail();
  const Buffer buffer = core::with_kind(given);
  if (from.rank != MPI_ANY_SOURCE && !matcher_.has_posted() && !outbox_.is_signing() &&
      !buffer.on_device()) {
    int error = MPI_SUCCESS;
    PeerState* peer = peers_.connected(*from.communicator, from.rank, &error);
    if (TERN_UNLIKELY(peer == nullptr)) return error;
    if (btl::FrameQueue* const queue = peer->endpoint->caps.queue; TERN_LIKELY(queue != nullptr)) {
      error = recv_at_once(buffer, from, *queue, outcome);
      if (TERN_LIKELY(error != MPI_ERR_PENDING)) return error;
    }
  }
  if (const int code = require_source(from); TERN_UNLIKELY(code != MPI_SUCCESS)) return code;
  RecvRequest* const request = requests_.make_recv(buffer, from);
  if (TERN_UNLIKELY(request == nullptr)) return MPI_ERR_NO_MEM;
  if (const int code = matcher_.start(*request); TERN_UNLIKELY(code != MPI_SUCCESS)) return code;
  return wait_for(*request, channel_.progress, outcome);
}

int P2p::require_source(const Envelope& from) noexcept {
  if (TERN_UNLIKELY(from.communicator->fate.dead_locked())) return from.communicator->fate.fail();
  if (from.rank == MPI_ANY_SOURCE) return MPI_SUCCESS;
  const PeerState* const state = peers_.known(*from.communicator, from.rank);
  if (TERN_UNLIKELY(state == nullptr)) return peers_.require_reachable(from);
  return TERN_LIKELY(!state->fate.dead_locked()) || matcher_.has(from) ? MPI_SUCCESS
                                                                       : state->fate.fail();
}

// Nothing is posted: looks at the source's own ring and copies from there, without a request.
// MPI_ERR_PENDING says that the general way must be taken (another message is first, or the wait is
// long).
int P2p::recv_at_once(const Buffer& buffer, const Envelope& from, btl::FrameQueue& queue,
                      core::Outcome* outcome) noexcept {
  const uint32_t context = context_of(from);
  btl::Frame frame;
  for (uint32_t rounds = 0;; ++rounds) {
    if (!matcher_.empty()) return MPI_ERR_PENDING;
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
      requests_.count_received();
      queue.pop();
      return MPI_SUCCESS;
    }
    if (rounds * kPollsBetweenRounds >= channel_.progress.spins() || channel_.progress.wanted())
      return MPI_ERR_PENDING;
    channel_.progress.poll();
  }
}

int P2p::isend_locked(const Buffer& buffer, const Envelope& to, core::Request** request) noexcept {
  return isend_held(buffer, to, Mode::kStandard, request);
}

int P2p::isend_lost_locked(const Buffer& buffer, const Envelope& to, int error,
                           core::Request** request) noexcept {
  int code = MPI_SUCCESS;
  if (TERN_UNLIKELY(to.communicator->fate.dead_locked())) return to.communicator->fate.fail();
  PeerState* peer = peers_.connected(*to.communicator, to.rank, &code);
  if (peer == nullptr) return code;
  SendRequest* const made = requests_.make_send(buffer, to, Mode::kStandard);
  if (TERN_UNLIKELY(made == nullptr)) return MPI_ERR_NO_MEM;
  made->peer = peer;
  sending_.start(*made, error);
  *request = made;
  return MPI_SUCCESS;
}

int P2p::irecv_locked(const Buffer& buffer, const Envelope& from,
                      core::Request** request) noexcept {
  if (const int code = require_source(from); TERN_UNLIKELY(code != MPI_SUCCESS)) return code;
  RecvRequest* const made = requests_.make_recv(buffer, from);
  if (TERN_UNLIKELY(made == nullptr)) return MPI_ERR_NO_MEM;
  const int code = matcher_.start(*made);
  if (TERN_LIKELY(code == MPI_SUCCESS)) *request = made;
  return code;
}

int P2p::irecv(const Buffer& buffer, const Envelope& from, core::Request** request) noexcept {
  const core::ChannelLock lock(channel_.progress);
  return irecv_locked(buffer, from, request);
}

int P2p::isend(const Buffer& buffer, const Envelope& to, Mode mode,
               core::Request** request) noexcept {
  const core::ChannelLock lock(channel_.progress);
  look_now_and_then(&sends_since_look_, channel_.progress);
  return isend_held(buffer, to, mode, request);
}

int P2p::isend_held(const Buffer& given, const Envelope& to, Mode mode,
                    core::Request** request) noexcept {
  if (TERN_UNLIKELY(to.communicator->fate.dead_locked())) return to.communicator->fate.fail();
  const Buffer buffer = core::with_kind(given);
  int error = MPI_SUCCESS;
  PeerState* peer = peers_.connected(*to.communicator, to.rank, &error);
  if (TERN_UNLIKELY(peer == nullptr)) return error;
  SendRequest* const completed = requests_.completed_send();
  if (TERN_LIKELY(mode != Mode::kSynchronous && completed != nullptr &&
                  eager_.send_now(*peer, buffer, to, buffer.bytes()))) {
    completed->retain();
    *request = completed;
    return MPI_SUCCESS;
  }
  SendRequest* const made = requests_.make_send(buffer, to, mode);
  if (TERN_UNLIKELY(made == nullptr)) return MPI_ERR_NO_MEM;
  made->peer = peer;
  sending_.start(*made);
  *request = made;
  return MPI_SUCCESS;
}

bool P2p::offer(cuda::Device& device, const void* address, size_t bytes,
                MemoryHandle* handle) noexcept {
  return devices_.offer(device, cuda::look_up(address), address, bytes, handle);
}

void P2p::add_up(const core::Communicator* of, Statistics* sums) const noexcept {
  peers_.add_up(sums);
  sums->received += requests_.received();
  matcher_.add_up(of, sums);
}

}  // namespace tern::pml
