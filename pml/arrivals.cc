// SPDX-License-Identifier: Apache-2.0
// Frames in: matching, eager data, messages kept for later.
#include <algorithm>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "core/peer.hpp"
#include "pml/p2p.hpp"
#include "pml/prefix.hpp"

namespace tern::pml {
namespace {

/// What stands before the data of a frame of this kind; SIZE_MAX of no kind.
size_t prefix_bytes(uint8_t kind) noexcept {
  const size_t before = ((kind & wire::kLong) != 0 ? sizeof(wire::LongContext) : 0) +
                        ((kind & wire::kSigned) != 0 ? sizeof(wire::Signature) : 0);
  switch (kind & ~(wire::kLong | wire::kSigned)) {
    case wire::kRts | wire::kCarded:
      return before + sizeof(wire::Rts) + sizeof(btl::MemoryCard);
    case wire::kEager:
      return before;
    case wire::kEagerSync:
      return before + sizeof(wire::SyncPrefix);
    case wire::kRts:
      return before + sizeof(wire::Rts);
    default:
      break;
  }
  switch (kind) {
    case wire::kGo:
      return sizeof(wire::Go);
    case wire::kData:
      return sizeof(wire::DataPrefix);
    case wire::kDone:
      return sizeof(wire::Done);
    case wire::kContext:
      return sizeof(wire::ContextTold);
    case wire::kPace:
      return sizeof(wire::Pace);
    case wire::kFailed:
      return sizeof(wire::Failed);
    case wire::kWithdraw:
      return sizeof(wire::Withdraw);
    default:
      return SIZE_MAX;
  }
}

bool well_formed(const btl::Header& header, uint32_t from) noexcept {
  const size_t least = prefix_bytes(header.kind);
  if (header.bytes >= least) return true;
  log_line("a frame of kind %u with %u bytes from rank %u is %s and is ignored", header.kind,
           header.bytes, from, least == SIZE_MAX ? "of unknown kind" : "too short");
  return false;
}

}  // namespace

int source_of(const Envelope& from, const PeerState& peer, const btl::Header& header) noexcept {
  if (from.rank != MPI_ANY_SOURCE) return from.rank;
  const core::Group& group = from.communicator->target();
  const auto said = static_cast<int>(header.source);
  if (said >= 0 && said < group.size() && group.peer_index(said) == peer.peer->index) return said;
  return group.rank_of(peer.peer->index);
}

void P2p::arrived(btl::Endpoint& from, const btl::Frame& frame) noexcept {
  PeerState& peer = TERN_LIKELY(from.state != nullptr) ? *from.state : peers_.contact(from);
  if (TERN_LIKELY(frame.header.kind == wire::kEager)) {
    match_arrival(peer, frame.header, frame.payload, frame.header.bytes);
    return;
  }
  if (!well_formed(frame.header, from.to.peer.rank)) return;
  PrefixReader reader(frame.payload, frame.header.bytes);
  switch (frame.header.kind) {
    case wire::kGo:
      take_go(peer, reader.take<wire::Go>());
      break;
    case wire::kData: {
      const auto prefix = reader.take<wire::DataPrefix>();
      take_data(peer, prefix, reader.next(), reader.left());
      break;
    }
    case wire::kDone:
      take_done(peer, reader.take<wire::Done>());
      break;
    case wire::kFailed:
      take_failed(peer, reader.take<wire::Failed>());
      break;
    case wire::kContext:
      learn_context(peer, reader.take<wire::ContextTold>());
      break;
    case wire::kPace:
      peer.eager_limit =
          reader.take<wire::Pace>().eager != 0 ? static_cast<int64_t>(limits_.eager) : -1;
      break;
    case wire::kWithdraw:
      withdraw(peer, reader.take<wire::Withdraw>().sender);
      break;
    default:
      take_message_frame(peer, frame);
  }
}

// A message, or the announcement of one. In long form it is answered with the short name of its
// communicator.
void P2p::take_message_frame(PeerState& peer, const btl::Frame& frame) noexcept {
  PrefixReader reader(frame.payload, frame.header.bytes);
  btl::Header header = frame.header;
  if ((header.kind & wire::kLong) != 0) {
    const auto id = reader.take<wire::LongContext>();
    const Contexts::Heard heard = contexts_.hear_of({id.creator, static_cast<uint32_t>(id.counter)},
                                                    peer.peer->index, process_);
    header.context = wire::context_word(heard.index, header.context & 3);
    header.kind &= static_cast<uint8_t>(~wire::kLong);
    if (heard.tell) outbox_.send_control(peer, wire::kContext, wire::ContextTold{id, heard.index});
  }
  wire::Signature signature;
  if ((header.kind & wire::kSigned) != 0) {
    signature = reader.take<wire::Signature>();
    signature.words[sizeof signature.words - 1] = '\0';
    header.kind &= static_cast<uint8_t>(~wire::kSigned);
    arriving_ = &signature;
  }
  header.kind &= static_cast<uint8_t>(~wire::kCarded);  // what follows the Rts says it
  match_arrival(peer, header, reader.next(), reader.left());
  arriving_ = nullptr;
}

void P2p::start(RecvRequest& request) noexcept {
  requests_.begin(request);
  Message* message = unexpected_.find(request.key);
  if (message != nullptr)
    take_message(request, *message);
  else
    posted_.post(request);
}

void P2p::match_arrival(PeerState& peer, const btl::Header& header, const std::byte* payload,
                        size_t bytes) noexcept {
  const Key key{header.context, peer.peer->index, header.tag};
  RecvRequest* request = posted_.take(key);
  if (request == nullptr) {
    keep(peer, key, header, payload, bytes);
    return;
  }
  request->peer = &peer;
  PrefixReader reader(payload, bytes);
  if (header.kind == wire::kRts) {
    const auto rts = reader.take<wire::Rts>();
    check_signature(*request, peer, header, arriving_, rts.bytes);
    take_rts(*request, peer, header, rts, NamedData(reader.next(), reader.left()));
    return;
  }
  if (header.kind == wire::kEagerSync) {
    const auto prefix = reader.take<wire::SyncPrefix>();
    outbox_.send_control(peer, wire::kDone, wire::Done{prefix.sender, MPI_SUCCESS});
  }
  check_signature(*request, peer, header, arriving_, reader.left());
  take_eager(*request, header, reader.next(), reader.left());
}

void P2p::keep(PeerState& peer, const Key& key, const btl::Header& header, const std::byte* payload,
               size_t bytes) noexcept {
  Message* message = messages_.take();
  if (message == nullptr) message = messages_.add(std::make_unique<Message>());
  message->key = key;
  message->from = &peer;
  message->header = header;
  message->sender = 0;
  message->rts = {};
  message->signature.reset(arriving_ == nullptr ? nullptr : new wire::Signature(*arriving_));
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

// A sender whose messages nobody receives is told to send announcements only, and when half of them
// are gone, that it may go on.
void P2p::count_kept(PeerState& peer, size_t more, size_t less) noexcept {
  peer.kept += more - less;
  const bool slow =
      peer.slowed ? peer.kept * 2 > limits_.unexpected : peer.kept > limits_.unexpected;
  if (TERN_LIKELY(slow == peer.slowed)) return;
  peer.slowed = slow;
  outbox_.send_control(peer, wire::kPace, wire::Pace{slow ? uint64_t{0} : uint64_t{1}});
}

void P2p::take_message(RecvRequest& request, Message& message) noexcept {
  unexpected_.remove(message);
  accept(request, message);
}

// A message that is in no queue any more.
void P2p::accept(RecvRequest& request, Message& message) noexcept {
  request.peer = message.from;
  const bool large = message.header.kind == wire::kRts;
  check_signature(request, *message.from, message.header, message.signature.get(),
                  large ? message.rts.bytes : message.data.size());
  if (large) {
    take_rts(request, *message.from, message.header, message.rts,
             NamedData(message.data.data(), message.data.size()));
  } else {
    if (message.sender != 0)
      outbox_.send_control(*message.from, wire::kDone, wire::Done{message.sender, MPI_SUCCESS});
    count_kept(*message.from, 0, kept_bytes(message));
    take_eager(request, message.header, message.data.data(), message.data.size());
  }
  constexpr size_t kKeptCapacity = 256;
  if (message.data.capacity() > kKeptCapacity) std::vector<std::byte>().swap(message.data);
  messages_.give(message);
}

void P2p::take_eager(RecvRequest& request, const btl::Header& header, const std::byte* data,
                     size_t bytes) noexcept {
  const size_t room = request.buffer.bytes();
  const size_t taken = bytes <= room ? bytes : room;
  const core::Datatype& type = *request.buffer.type;
  int code = MPI_SUCCESS;
  if (TERN_UNLIKELY(request.buffer.on_device()))
    code = core::unpack(process_, request.buffer, 0, data, taken);
  else if (TERN_LIKELY(type.contiguous()))
    copy_bytes(request.buffer.first(), data, taken);
  else
    type.unpack(request.buffer.address, request.buffer.count, 0, data, taken);
  request.outcome.source = source_of(request.from, *request.peer, header);
  request.outcome.tag = header.tag;
  request.outcome.bytes = static_cast<MPI_Count>(taken);
  if (TERN_UNLIKELY(bytes > room)) {
    request.error_text =
        new std::string(strf("the message from rank %d with tag %d has %zu bytes, but the receive "
                             "has room for %zu; the first "
                             "%zu are kept",
                             request.outcome.source, header.tag, bytes, room, room));
    finish(request, MPI_ERR_TRUNCATE);
    return;
  }
  if (TERN_UNLIKELY(code != MPI_SUCCESS))
    request.error_text = new std::string(take_last_error().text);
  finish(request, code);
}

void P2p::take_rts(RecvRequest& request, PeerState& peer, const btl::Header& header,
                   const wire::Rts& rts, const NamedData& named) noexcept {
  const size_t room = request.buffer.bytes();
  request.peer = &peer;
  request.outcome.source = source_of(request.from, peer, header);
  request.outcome.tag = header.tag;
  if (TERN_UNLIKELY(rts.sender == 0)) return lose(request, rts);
  request.transfer = {};
  request.transfer.bytes = rts.bytes <= room ? rts.bytes : room;
  request.transfer.partner = rts.sender;
  request.transfer.remote_address = rts.address;
  request.outcome.bytes = static_cast<MPI_Count>(request.transfer.bytes);
  if (rts.bytes > room) {
    request.outcome.error = MPI_ERR_TRUNCATE;
    request.error_text = new std::string(
        strf("the message from rank %d with tag %d has %llu bytes, but the receive has room for "
             "%zu; the first "
             "%zu are kept",
             request.outcome.source, header.tag, static_cast<unsigned long long>(rts.bytes), room,
             room));
  }
  request.large = true;
  ++receiving_;
  if (request.transfer.bytes == 0) {
    tell_done(request, MPI_SUCCESS);
  } else if (TERN_UNLIKELY(named.there()) && copy_on_device(request, named)) {
    // it ends when the device has copied
  } else if (!can_read(request, peer, rts)) {
    receive_pipeline(request);
  } else {
    if (request.transfer.claims != nullptr) receive_both_ends(request);
    pulling_.push_back(&request);
    if (process_.threaded())
      channel_.progress.wake();  // this thread may leave, and another one sleep
  }
}

// Whether the receiver reads the sender's memory; finds the claims, and room for the packed form
// where its own data is not one block.
bool P2p::can_read(RecvRequest& request, PeerState& peer, const wire::Rts& rts) noexcept {
  Transfer& transfer = request.transfer;
  if (rts.address == 0 || request.buffer.on_device() || prefers_pipeline(transfer.bytes) ||
      !peer.endpoint->one_sided())
    return false;
  if (rts.bytes == transfer.bytes) transfer.claims = peer.endpoint->peer_claims(rts.claims);
  const bool readable = rts.staged == 0 || transfer.claims != nullptr;
  if (readable && (request.buffer.type->contiguous() || open_stage(request.buffer, transfer)))
    return true;
  transfer.claims = nullptr;
  return false;
}

// Two copies by two cores overlap, one by the receiver alone does not: the pipeline is faster for a
// message that travels alone. With more under way each core has a copy of its own to make, and with
// more ranks than cores nobody helps: then one copy is less work.
bool P2p::prefers_pipeline(size_t bytes) const noexcept {
  if (limits_.pull == Limits::kNever) return true;
  return bytes < limits_.pull && receiving_ == 1 && !process_.oversubscribed;
}

void P2p::finish(RecvRequest& request, int error) noexcept {
  if (request.large) {
    request.large = request.fragments = false;
    request.transfer.stage.reset();
    request.transfer.device.reset();
    --receiving_;
  }
  requests_.finish(request, error);
}

void P2p::withdraw(PeerState& peer, uint64_t sender) noexcept {
  if (sender == 0) return;  // no handle: plain messages have it
  for (Message* message = unexpected_.first(); message != nullptr; message = message->later) {
    if (message->from != &peer || (message->sender != sender && message->rts.sender != sender))
      continue;
    unexpected_.remove(*message);
    count_kept(peer, 0, kept_bytes(*message));
    messages_.give(*message);
    outbox_.send_control(peer, wire::kDone, wire::Done{sender, wire::kWithdrawn});
    return;
  }
}

void P2p::learn_context(PeerState& peer, const wire::ContextTold& told) noexcept {
  const core::ContextId id{told.id.creator, static_cast<uint32_t>(told.id.counter)};
  contexts_.with(id, [&](core::Communicator& communicator) {
    const int rank = communicator.target().rank_of(peer.peer->index);
    if (rank != MPI_UNDEFINED)
      communicator.set_remote_index(rank, static_cast<uint32_t>(told.index));
  });
}

}  // namespace tern::pml
