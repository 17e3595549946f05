// SPDX-License-Identifier: Apache-2.0
// P2p: the calls of pml.hpp, and the requests behind them.
#include "pml/p2p.hpp"

#include <algorithm>
#include <cstring>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "core/peer.hpp"

namespace tern::pml {
namespace {

constexpr int kPollsBetweenRounds = 64;  // looks at one ring between two rounds over all transports

uint32_t context_of(const Envelope& from) noexcept {
  return wire::context_word(from.communicator->index(), static_cast<uint32_t>(from.plane));
}

/// The same by registers: a copy by vectors, or a look at it, waits for the stores that have just
/// written the fields one by one.
inline void take(Buffer& to, const Buffer& from) noexcept {
  void* address = from.address;
  MPI_Count count = from.count;
  core::Datatype* type = from.type;
  asm("" : "+r"(address), "+r"(count), "+r"(type));
  cuda::MemoryKind kind = from.kind;
  if (kind == cuda::MemoryKind::kUnknown)
    kind = count == 0 ? cuda::MemoryKind::kHost
                      : cuda::kind_of(static_cast<std::byte*>(address) + type->true_lb());
  to.address = address;
  to.count = count;
  to.type = type;
  to.kind = kind;
}

}  // namespace

P2p::P2p(core::Channel& channel, P2p* first)
    : channel_(channel),
      process_(channel.process),
      transports_(process_, *this, channel.number,
                  first == nullptr ? nullptr : &first->transports_),
      devices_(process_),
      eager_limit_(std::min(static_cast<size_t>(process_.params.eager_limit), kMostEager)),
      unexpected_limit_(static_cast<size_t>(process_.params.unexpected_limit)),
      pull_limit_(static_cast<size_t>(process_.params.sm_pull_limit)),
      both_limit_(static_cast<size_t>(process_.params.sm_both_limit)),
      signs_(process_.params.checks("types")),
      tracks_(process_.params.checks("leaks")) {
  const std::string& way = process_.params.sm_single_copy;
  if (way == "pipeline")
    pull_limit_ = both_limit_ = SIZE_MAX;
  else if (way == "pull")
    both_limit_ = SIZE_MAX;
  else if (way == "both")
    pull_limit_ = both_limit_ = 0;
  if (process_.threaded()) admit_threads();
  completed_ =
      &make_send(Buffer{nullptr, 0, nullptr, cuda::MemoryKind::kHost}, Envelope{}, Mode::kStandard);
  completed_->complete();
  completed_->made_at = {};
  channel_.progress.add([](void* self) noexcept { return static_cast<P2p*>(self)->progress(); },
                        this);
}

P2p::~P2p() {
  channel_.progress.remove(this);
  for (auto& send : sends_.all()) process_.handles.erase(*send);
  for (auto& recv : recvs_.all()) {
    process_.handles.erase(*recv);
    delete recv->error_text;  // of an operation that never ended
  }
}

int P2p::progress() noexcept {
  int events = transports_.progress();
  if (TERN_UNLIKELY(!waiting_.empty())) events += send_waiting();
  if (TERN_UNLIKELY(!pulling_.empty() || !pushing_.empty())) events += move_transfers();
  if (TERN_UNLIKELY(!copying_.empty())) events += move_device_copies();
  return events;
}

PeerState& P2p::contact(btl::Endpoint& endpoint) {
  peers_.push_back(std::make_unique<PeerState>(endpoint));
  PeerState& state = *peers_.back();
  state.eager_limit = static_cast<int64_t>(eager_limit_);
  const size_t index = state.peer->index;
  if (index >= by_peer_.size()) by_peer_.resize(index + 1, nullptr);
  state.next = by_peer_[index];
  by_peer_[index] = &state;
  endpoint.state = &state;
  if (process_.explain.on()) explain_contact(state);
  return state;
}

PeerState* P2p::known(const core::Communicator& communicator, int rank) const noexcept {
  const size_t index = communicator.peer_index(rank);
  PeerState* state = index < by_peer_.size() ? by_peer_[index] : nullptr;
  while (state != nullptr && !state->endpoint->to.serves(communicator.id().turn()))
    state = state->next;
  return state;
}

PeerState* P2p::state_of(core::Communicator& communicator, int rank, int* error) noexcept {
  PeerState* state = known(communicator, rank);
  if (TERN_LIKELY(state != nullptr)) return state;
  try {
    return &contact(transports_.connect(communicator.peer(rank), communicator.id().turn()));
  } catch (const Error& failure) {
    *error = fail(failure);
    return nullptr;
  }
}

SendRequest& P2p::make_send(const Buffer& buffer, const Envelope& to, Mode mode) {
  SendRequest* request = sends_.take();
  if (request == nullptr) {
    request = sends_.add(std::make_unique<SendRequest>(*this));
    process_.handles.insert(*request);
  }
  take(request->buffer, buffer);
  request->to = to;
  request->mode = mode;
  request->communicator = to.communicator;
  if (TERN_UNLIKELY(tracks_)) request->made_at = core::current_call;
  return *request;
}

RecvRequest& P2p::make_recv(const Buffer& buffer, const Envelope& from) {
  RecvRequest* request = recvs_.take();
  if (request == nullptr) {
    request = recvs_.add(std::make_unique<RecvRequest>(*this));
    process_.handles.insert(*request);
  }
  take(request->buffer, buffer);
  request->from = from;
  request->communicator = from.communicator;
  if (TERN_UNLIKELY(tracks_)) request->made_at = core::current_call;
  request->key.context = context_of(from);
  request->key.source = source_key_of(from);
  request->key.tag = from.tag;
  return *request;
}

uint32_t P2p::source_key_of(const Envelope& from) const noexcept {
  return from.rank == MPI_ANY_SOURCE ? kAnySource : from.communicator->peer_index(from.rank);
}

Key P2p::key_of(const Envelope& from) const noexcept {
  return {context_of(from), source_key_of(from), from.tag};
}

// A rank that only sends, and always finds room, must still hear that its receiver cannot follow.
void P2p::look_now_and_then() noexcept {
  constexpr uint32_t kSendsBetweenLooks = 63;
  if (TERN_UNLIKELY((++sends_since_look_ & kSendsBetweenLooks) == 0)) channel_.progress.poll();
}

int P2p::send(const Buffer& given, const Envelope& to, Mode mode) noexcept {
  const core::ChannelLock lock(channel_.progress);
  const Buffer buffer = core::asked(given);
  look_now_and_then();
  int error = MPI_SUCCESS;
  PeerState* peer = state_of(*to.communicator, to.rank, &error);
  if (TERN_UNLIKELY(peer == nullptr)) return error;
  const size_t bytes = buffer.bytes();
  if (TERN_LIKELY(mode != Mode::kSynchronous && send_eager_now(*peer, buffer, to, bytes)))
    return MPI_SUCCESS;
  SendRequest& request = make_send(buffer, to, mode);
  request.peer = peer;
  start(request);
  return wait_for(request, nullptr);
}

int P2p::recv(const Buffer& given, const Envelope& from, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(channel_.progress);
  const Buffer buffer = core::asked(given);
  if (from.rank != MPI_ANY_SOURCE && posted_.empty() && !signs_ && !buffer.on_device()) {
    int error = MPI_SUCCESS;
    PeerState* peer = state_of(*from.communicator, from.rank, &error);
    if (TERN_UNLIKELY(peer == nullptr)) return error;
    error = recv_at_once(buffer, from, *peer, outcome);
    if (TERN_LIKELY(error != MPI_ERR_PENDING)) return error;
  }
  if (const int code = require_reachable(from); TERN_UNLIKELY(code != MPI_SUCCESS)) return code;
  RecvRequest& request = make_recv(buffer, from);
  start(request);
  return wait_for(request, outcome);
}

// Nothing is posted: looks at the source's own ring and copies from there, without a request.
// MPI_ERR_PENDING says that the general way must be taken (another message is first, or the wait is
// long).
int P2p::recv_at_once(const Buffer& buffer, const Envelope& from, PeerState& peer,
                      core::Outcome* outcome) noexcept {
  const uint32_t context = context_of(from);
  btl::Endpoint& endpoint = *peer.endpoint;
  btl::Frame frame;
  for (uint32_t rounds = 0;; ++rounds) {
    if (!unexpected_.empty() || !posted_.empty()) return MPI_ERR_PENDING;
    for (int polls = 0; polls < kPollsBetweenRounds; ++polls) {
      if (!endpoint.peek(&frame)) continue;
      const btl::Header& header = frame.header;
      if (header.kind != wire::kEager || header.context != context ||
          (header.tag != from.tag && from.tag != MPI_ANY_TAG) || !buffer.type->contiguous() ||
          header.bytes > buffer.bytes())
        return MPI_ERR_PENDING;
      copy_bytes(static_cast<std::byte*>(buffer.address) + buffer.type->true_lb(), frame.payload,
                 header.bytes);
      if (outcome != nullptr) *outcome = {from.rank, header.tag, MPI_SUCCESS, false, header.bytes};
      ++received_;
      endpoint.pop();
      return MPI_SUCCESS;
    }
    if (rounds * kPollsBetweenRounds >= channel_.progress.spins() || channel_.progress.wanted())
      return MPI_ERR_PENDING;
    channel_.progress.poll();
  }
}

int P2p::wait_for(core::Request& request, core::Outcome* outcome) noexcept {
  channel_.progress.wait([&request] { return request.done(); },
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

int P2p::isend_locked(const Buffer& buffer, const Envelope& to, core::Request** request) noexcept {
  return isend_held(buffer, to, Mode::kStandard, request);
}

int P2p::isend_lost_locked(const Buffer& buffer, const Envelope& to, int error,
                           core::Request** request) noexcept {
  int code = MPI_SUCCESS;
  PeerState* peer = state_of(*to.communicator, to.rank, &code);
  if (peer == nullptr) return code;
  SendRequest& made = make_send(buffer, to, Mode::kStandard);
  made.peer = peer;
  start(made, error);
  *request = &made;
  return MPI_SUCCESS;
}

// A message from a rank that nothing reaches would be waited for in vain.
int P2p::require_reachable(const Envelope& from) noexcept {
  if (from.rank == MPI_ANY_SOURCE) return MPI_SUCCESS;
  if (TERN_LIKELY(known(*from.communicator, from.rank) != nullptr)) return MPI_SUCCESS;
  try {
    transports_.require(from.communicator->peer(from.rank));
    return MPI_SUCCESS;
  } catch (const Error& failure) {
    return fail(failure);
  }
}

int P2p::irecv_locked(const Buffer& buffer, const Envelope& from,
                      core::Request** request) noexcept {
  if (const int code = require_reachable(from); TERN_UNLIKELY(code != MPI_SUCCESS)) return code;
  RecvRequest& made = make_recv(buffer, from);
  start(made);
  *request = &made;
  return MPI_SUCCESS;
}

int P2p::irecv(const Buffer& buffer, const Envelope& from, core::Request** request) noexcept {
  const core::ChannelLock lock(channel_.progress);
  return irecv_locked(buffer, from, request);
}

int P2p::isend(const Buffer& buffer, const Envelope& to, Mode mode,
               core::Request** request) noexcept {
  const core::ChannelLock lock(channel_.progress);
  look_now_and_then();
  return isend_held(buffer, to, mode, request);
}

int P2p::isend_held(const Buffer& given, const Envelope& to, Mode mode,
                    core::Request** request) noexcept {
  const Buffer buffer = core::asked(given);
  int error = MPI_SUCCESS;
  PeerState* peer = state_of(*to.communicator, to.rank, &error);
  if (TERN_UNLIKELY(peer == nullptr)) return error;
  if (TERN_LIKELY(mode != Mode::kSynchronous && !tracks_ &&
                  send_eager_now(*peer, buffer, to, buffer.bytes()))) {
    completed_->retain();
    *request = completed_;
    return MPI_SUCCESS;
  }
  SendRequest& made = make_send(buffer, to, mode);
  made.peer = peer;
  start(made);
  *request = &made;
  return MPI_SUCCESS;
}

core::Outcome P2p::describe(const Message& message, const Envelope& from) const noexcept {
  const bool rts = message.header.kind == wire::kRts;
  return {source_of(from, *message.from, message.header), message.header.tag, MPI_SUCCESS, false,
          static_cast<MPI_Count>(rts ? message.rts.bytes : message.data.size())};
}

// The earliest that fits, after one round of progress at most; null where there is none.
Message* P2p::look_for(const Envelope& from) noexcept {
  const Key key = key_of(from);
  Message* message = unexpected_.find(key);
  if (message != nullptr) return message;
  channel_.progress.poll_for_caller();
  return unexpected_.find(key);
}

int P2p::wait_for(const Envelope& from, Message** message) noexcept {
  if (const int code = require_reachable(from); code != MPI_SUCCESS) return code;
  const Key key = key_of(from);
  channel_.progress.wait([&] { return (*message = unexpected_.find(key)) != nullptr; },
                         [&from](WaitReport* report) {
                           report->words += "a message ";
                           describe_source(from, report);
                         });
  return MPI_SUCCESS;
}

int P2p::iprobe(const Envelope& from, bool* found, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(channel_.progress);
  const Message* message = look_for(from);
  *found = message != nullptr;
  if (message != nullptr) *outcome = describe(*message, from);
  return MPI_SUCCESS;
}

int P2p::probe(const Envelope& from, core::Outcome* outcome) noexcept {
  const core::ChannelLock lock(channel_.progress);
  Message* message = nullptr;
  const int code = wait_for(from, &message);
  if (code == MPI_SUCCESS) *outcome = describe(*message, from);
  return code;
}

void P2p::add_context(core::Communicator& communicator) { contexts_.add(communicator); }

void P2p::remove_context(core::Communicator& communicator) noexcept {
  contexts_.remove(communicator);
}

}  // namespace tern::pml
