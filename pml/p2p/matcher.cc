// SPDX-License-Identifier: Apache-2.0
// Matcher: posting, arrivals, unexpected messages.
#include "pml/p2p/matcher.hpp"

#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "core/channel.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "pml/prefix.hpp"
#include "trace/recorder.hpp"

namespace tern::pml {
namespace {

bool of_user(uint32_t context, const core::Communicator& communicator) noexcept {
  return context == wire::context_word(communicator.index(), static_cast<uint32_t>(Plane::kUser));
}

/// Numbers count in the order of matching. `posted`: the receive was there before the message.
TERN_COLD void note_match(RecvRequest& request, const PeerState& peer, const btl::Header& header,
                          bool posted) noexcept {
  const Envelope& from = request.from;
  trace::CommNotes* const notes = from.communicator->notes.get();
  if (from.plane != Plane::kUser || notes == nullptr) return;
  request.notes.message = notes->received.next(source_of(from, peer, header), header.tag);
  request.notes.matched_ns = posted ? trace::now() : 0;
}

}  // namespace

int source_of(const Envelope& from, const PeerState& peer, const btl::Header& header) noexcept {
  if (from.rank != MPI_ANY_SOURCE) return from.rank;
  const core::Group& group = from.communicator->target();
  const auto said = static_cast<int>(header.source);
  if (said >= 0 && said < group.size() && group.peer_index(said) == peer.peer->index) return said;
  return group.rank_of(peer.peer->index);
}

Matcher::Matcher(core::Channel& channel, const Limits& limits, Outbox& outbox,
                 RequestPool& requests, Eager& eager, Transfers& transfers) noexcept
    : channel_(channel),
      limits_(limits),
      outbox_(outbox),
      requests_(requests),
      eager_(eager),
      transfers_(transfers) {}

int Matcher::cannot_post(RecvRequest& request) noexcept {
  if (!request.persistent()) request.release();
  return fail(MPI_ERR_NO_MEM, "no memory to post a receive");
}

int Matcher::start(RecvRequest& request) noexcept {
  Message* message = nullptr;
  try {
    message = unexpected_.find(request.key);
    if (message == nullptr) posted_.post(request);
  } catch (const std::bad_alloc&) {
    return cannot_post(request);
  }
  requests_.begin(request);
  if (message == nullptr) return MPI_SUCCESS;
  unexpected_.remove(*message);
  if (trace::is_on()) note_match(request, *message->from, message->header, false);
  receive(request, *message);
  return MPI_SUCCESS;
}

void Matcher::cancel(RecvRequest& request) noexcept {
  if ((request.done() && !request.pends) || !Posted<RecvRequest>::holds(request)) return;
  posted_.remove(request);
  request.pends = false;
  request.outcome = {};
  request.outcome.cancelled = true;
  requests_.finish(request, MPI_SUCCESS);
  if (channel_.process.threaded()) channel_.progress.wake();
}

void Matcher::take_frame(PeerState& peer, const btl::Frame& frame) noexcept {
  PrefixReader reader(frame.payload, frame.bytes);
  btl::Header header = frame.header;
  if ((header.kind & wire::kLong) != 0) {
    const auto id = reader.take<wire::LongContext>();
    const Contexts::Heard heard = contexts_.hear_of({id.creator, static_cast<uint32_t>(id.counter)},
                                                    peer.peer->index, channel_.process);
    header.context = wire::context_word(heard.index, header.context & 3);
    if (heard.tell) outbox_.send_control(peer, wire::kContext, wire::ContextTold{id, heard.index});
  }
  wire::TypeSignature signature;
  const bool is_signed = (header.kind & wire::kSigned) != 0;
  if (is_signed) {
    signature = reader.take<wire::TypeSignature>();
    signature.words[sizeof signature.words - 1] = '\0';
  }
  // The frame's size shows whether a memory handle follows.
  header.kind &= static_cast<uint8_t>(~(wire::kLong | wire::kSigned | wire::kWithHandle));
  arrive(peer, header, reader.next(), reader.left(), is_signed ? &signature : nullptr);
}

void Matcher::arrive(PeerState& peer, const btl::Header& header, const std::byte* payload,
                     size_t bytes, const wire::TypeSignature* signature) noexcept {
  const Key key{header.context, peer.peer->index, header.tag};
  RecvRequest* request = posted_.take(key);
  if (request == nullptr) return keep(peer, key, header, payload, bytes, signature);
  request->peer = &peer;
  if (trace::is_on()) note_match(*request, peer, header, true);
  PrefixReader reader(payload, bytes);
  if (header.kind == wire::kRts) {
    const auto rts = reader.take<wire::Rts>();
    check_signature(*request, peer, header, signature, rts.bytes);
    const NamedData named(rts, reader.next(), reader.left());
    return transfers_.receive(*request, header, {rts, named});
  }
  if (header.kind == wire::kEagerSync) {
    const auto prefix = reader.take<wire::SyncPrefix>();
    outbox_.send_control(peer, wire::kDone, wire::Done{prefix.sender, MPI_SUCCESS});
  }
  check_signature(*request, peer, header, signature, reader.left());
  eager_.receive(*request, header, reader.next(), reader.left());
}

void Matcher::keep(PeerState& peer, const Key& key, const btl::Header& header,
                   const std::byte* payload, size_t bytes,
                   const wire::TypeSignature* signature) noexcept {
  Message* message = messages_.acquire();
  if (message == nullptr) message = messages_.add(std::make_unique<Message>());
  message->key = key;
  message->from = &peer;
  message->header = header;
  message->sender = 0;
  message->rts = {};
  message->signature.reset(signature == nullptr ? nullptr : new wire::TypeSignature(*signature));
  PrefixReader reader(payload, bytes);
  if (header.kind == wire::kRts) message->rts = reader.take<wire::Rts>();
  if (header.kind == wire::kEagerSync) message->sender = reader.take<wire::SyncPrefix>().sender;
  message->data.assign(reader.next(), reader.next() + reader.left());
  unexpected_.add(*message);
  if (TERN_UNLIKELY(key.tag == kRefusalTag)) ++channel_.refusals;
  ++early_;
  most_kept_ = std::max(most_kept_, uint64_t{unexpected_.size()});
  if (EarlyWatcher* watcher = watcher_.load(std::memory_order_acquire);
      TERN_UNLIKELY(watcher != nullptr))
    watcher->came_early({key.context, key.source, key.tag,
                         header.kind == wire::kRts ? message->rts.bytes : message->data.size()});
  count_kept(peer, kept_bytes(*message), 0);
}

// A sender above the limit may send RTS only, until half of the limit is free.
void Matcher::count_kept(PeerState& peer, size_t more, size_t less) noexcept {
  peer.kept += more - less;
  const bool slow =
      peer.slowed ? peer.kept * 2 > limits_.unexpected : peer.kept > limits_.unexpected;
  if (TERN_LIKELY(slow == peer.slowed)) return;
  peer.slowed = slow;
  outbox_.send_control(peer, wire::kPace, wire::Pace{slow ? uint64_t{0} : uint64_t{1}});
}

core::Outcome outcome_of(const Message& message, const Envelope& from) noexcept {
  const bool rts = message.header.kind == wire::kRts;
  return {source_of(from, *message.from, message.header), message.header.tag, MPI_SUCCESS, false,
          static_cast<MPI_Count>(rts ? message.rts.bytes : message.data.size())};
}

int Matcher::take_out(const Envelope& from, Message& message, Matched** matched,
                      core::Outcome* outcome) noexcept {
  *matched = new (std::nothrow) Matched(from, message);
  if (*matched == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a message handle");
  *outcome = outcome_of(message, from);
  if (trace::CommNotes* const notes = from.communicator->notes.get(); notes != nullptr)
    (*matched)->number = notes->received.next(outcome->source, message.header.tag);
  unexpected_.remove(message);
  ++from.communicator->pending;
  channel_.process.handles.insert(**matched);
  return MPI_SUCCESS;
}

void Matcher::receive(RecvRequest& request, Message& message) noexcept {
  PeerState& peer = *message.from;
  request.peer = &peer;
  const bool large = message.header.kind == wire::kRts;
  check_signature(request, peer, message.header, message.signature.get(),
                  large ? message.rts.bytes : message.data.size());
  if (large) {
    const NamedData named(message.rts, message.data.data(), message.data.size());
    transfers_.receive(request, message.header, {message.rts, named});
  } else {
    if (message.sender != 0)
      outbox_.send_control(peer, wire::kDone, wire::Done{message.sender, MPI_SUCCESS});
    count_kept(peer, 0, kept_bytes(message));
    eager_.receive(request, message.header, message.data.data(), message.data.size());
  }
  constexpr size_t kKeptCapacity = 256;
  if (message.data.capacity() > kKeptCapacity) std::vector<std::byte>().swap(message.data);
  messages_.release(message);
}

void Matcher::withdraw(PeerState& peer, uint64_t sender) noexcept {
  if (sender == 0) return;
  for (Message* message = unexpected_.first(); message != nullptr; message = message->later) {
    if (message->from != &peer || (message->sender != sender && message->rts.sender != sender))
      continue;
    unexpected_.remove(*message);
    count_kept(peer, 0, kept_bytes(*message));
    messages_.release(*message);
    outbox_.send_control(peer, wire::kDone, wire::Done{sender, wire::kWithdrawn});
    return;
  }
}

void Matcher::learn_context(PeerState& peer, const wire::ContextTold& told) noexcept {
  const core::ContextId id{told.id.creator, static_cast<uint32_t>(told.id.counter)};
  contexts_.with(id, [&](core::Communicator& communicator) {
    const int rank = communicator.target().rank_of(peer.peer->index);
    if (rank != MPI_UNDEFINED)
      communicator.set_remote_index(rank, communicator.peer_count(),
                                    static_cast<uint32_t>(told.index));
  });
}

Message* Matcher::look_for(const Envelope& from) noexcept {
  const Key key = key_of(from);
  Message* message = unexpected_.find(key);
  if (message != nullptr) return message;
  channel_.progress.poll_for_caller();
  return unexpected_.find(key);
}

Message* Matcher::wait_for(const Envelope& from, const Peers& peers) noexcept {
  const Key key = key_of(from);
  Message* message = nullptr;
  const auto here = [&] {
    if (TERN_UNLIKELY(from.communicator->fate.dead_locked())) return true;
    message = unexpected_.find(key);
    return message != nullptr || TERN_UNLIKELY(peers.is_lost(from));
  };
  channel_.progress.wait(here, [&from](WaitReport* report) {
    report->words += "a message ";
    describe_source(from, report);
  });
  return message;
}

void Matcher::add_up(const core::Communicator* of, Statistics* sums) const noexcept {
  sums->unexpected += early_;
  sums->most_kept = std::max(sums->most_kept, most_kept_);
  for (const Message* one = unexpected_.first(); one != nullptr; one = one->later) {
    if (of != nullptr && !of_user(one->key.context, *of)) continue;
    ++sums->kept;
    sums->kept_bytes += one->data.size();
  }
  if (of == nullptr)
    sums->posted += posted_.size();
  else
    for (const auto& receive : requests_.receives())
      if (Posted<RecvRequest>::holds(*receive) && of_user(receive->key.context, *of))
        ++sums->posted;
}

}  // namespace tern::pml
