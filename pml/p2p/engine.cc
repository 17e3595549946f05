// SPDX-License-Identifier: Apache-2.0
// MessageEngine: progress and dispatch of received frames.
#include "pml/p2p/engine.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "core/peer.hpp"
#include "pml/prefix.hpp"

namespace tern::pml {
namespace {

/// prefix_bytes() returns SIZE_MAX for an unknown kind.
size_t prefix_bytes(uint8_t kind) noexcept {
  const size_t before = ((kind & wire::kLong) != 0 ? sizeof(wire::LongContext) : 0) +
                        ((kind & wire::kSigned) != 0 ? sizeof(wire::TypeSignature) : 0);
  switch (kind & ~(wire::kLong | wire::kSigned)) {
    case wire::kRts | wire::kWithHandle:
      return before + sizeof(wire::Rts) + sizeof(btl::MemoryHandle);
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
    case wire::kLanded:
      return sizeof(wire::Landed);
    case wire::kFailed:
      return sizeof(wire::Failed);
    case wire::kWithdraw:
      return sizeof(wire::Withdraw);
    case wire::kRevoke:
      return sizeof(wire::Revoke);
    default:
      return SIZE_MAX;
  }
}

bool well_formed(const btl::Frame& frame, uint32_t from) noexcept {
  const size_t least = prefix_bytes(frame.header.kind);
  if (frame.bytes >= least) return true;
  log_line("ignored a frame of kind %u with %zu bytes from rank %u: %s", frame.header.kind,
           frame.bytes, from, least == SIZE_MAX ? "unknown kind" : "too short");
  return false;
}

}  // namespace

MessageEngine::MessageEngine(core::Channel& of, MessageEngine* first)
    : channel(of),
      process(of.process),
      transports(process, *this, of.number, first == nullptr ? nullptr : &first->transports),
      devices(process),
      limits(process),
      peers(process, transports, limits),
      outbox(of),
      requests(*this, of),
      eager(process, outbox, requests),
      transfers({of, process, limits, devices, outbox, requests}),
      sending(of, outbox, requests, eager, transfers),
      matcher(of, limits, outbox, requests, eager, transfers) {
  channel.progress.add(
      [](void* self) noexcept { return static_cast<MessageEngine*>(self)->progress(); }, this);
}

MessageEngine::~MessageEngine() { channel.progress.remove(this); }

int MessageEngine::progress() noexcept {
  int events = transports.progress();
  if (TERN_UNLIKELY(!outbox.empty())) events += outbox.progress();
  if (TERN_UNLIKELY(!transfers.empty())) events += transfers.progress();
  devices.look_after();
  return events;
}

int MessageEngine::require_source(const Envelope& from) noexcept {
  if (TERN_UNLIKELY(from.communicator->fate.dead_locked())) return from.communicator->fate.fail();
  if (from.rank == MPI_ANY_SOURCE) {
    if (TERN_LIKELY(!peers.all_lost(*from.communicator)) || matcher.has(from)) return MPI_SUCCESS;
    return fail(MPI_ERR_PROC_ABORTED, "all ranks of the other group of %s are lost",
                from.communicator->name.or_words("the communicator").c_str());
  }
  const PeerState* const state = peers.known(*from.communicator, from.rank);
  if (TERN_UNLIKELY(state == nullptr)) return peers.require_reachable(from);
  return TERN_LIKELY(!state->fate.dead_locked()) || matcher.has(from) ? MPI_SUCCESS
                                                                      : state->fate.fail();
}

int MessageEngine::require_message(const Envelope& from) noexcept {
  const int code = require_source(from);
  if (code != MPI_SUCCESS || from.rank != MPI_ANY_SOURCE || !from.communicator->lacks_ack() ||
      matcher.has(from))
    return code;
  return fail(unacknowledged(*from.communicator));
}

void MessageEngine::take_go(PeerState& peer, PrefixReader* reader) noexcept {
  const auto go = reader->take<wire::Go>();
  transfers.take(peer, go, {reader->next(), reader->left()});
}

void MessageEngine::arrived(btl::Endpoint& from, const btl::Frame& frame) noexcept {
  PeerState& peer = TERN_LIKELY(from.state != nullptr) ? *from.state : peers.contact(from);
  if (TERN_LIKELY(frame.header.kind == wire::kEager)) {
    matcher.arrive(peer, frame.header, frame.payload, frame.bytes);
    return;
  }
  if (!well_formed(frame, from.to.peer.rank)) return;
  PrefixReader reader(frame.payload, frame.bytes);
  switch (frame.header.kind) {
    case wire::kGo:
      take_go(peer, &reader);
      break;
    case wire::kLanded:
      transfers.take(peer, reader.take<wire::Landed>());
      break;
    case wire::kData: {
      const auto prefix = reader.take<wire::DataPrefix>();
      transfers.take(peer, prefix, reader.next(), reader.left());
      break;
    }
    case wire::kDone:
      transfers.take(peer, reader.take<wire::Done>());
      break;
    case wire::kFailed:
      transfers.take(peer, reader.take<wire::Failed>());
      break;
    case wire::kContext:
      matcher.learn_context(peer, reader.take<wire::ContextTold>());
      break;
    case wire::kPace:
      peer.pace(reader.take<wire::Pace>().eager != 0);
      break;
    case wire::kWithdraw:
      matcher.withdraw(peer, reader.take<wire::Withdraw>().sender);
      break;
    case wire::kRevoke: {
      const auto revoke = reader.take<wire::Revoke>();
      if (process.deaths.watch != nullptr)
        process.deaths.watch->heard_revoke(
            channel, {revoke.id.creator, static_cast<uint32_t>(revoke.id.counter)});
      break;
    }
    default:
      matcher.take_frame(peer, frame);
  }
}

}  // namespace tern::pml
