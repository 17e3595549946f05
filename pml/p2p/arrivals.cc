// SPDX-License-Identifier: Apache-2.0
// Frames in: every frame is checked for its length, and goes to the part that it is for.
#include "base/error.hpp"
#include "base/log.hpp"
#include "core/peer.hpp"
#include "pml/p2p/p2p.hpp"
#include "pml/prefix.hpp"

namespace tern::pml {
namespace {

/// What stands before the data of a frame of this kind; SIZE_MAX of no kind.
size_t prefix_bytes(uint8_t kind) noexcept {
  const size_t before = ((kind & wire::kLong) != 0 ? sizeof(wire::LongContext) : 0) +
                        ((kind & wire::kSigned) != 0 ? sizeof(wire::Signature) : 0);
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
    default:
      return SIZE_MAX;
  }
}

bool well_formed(const btl::Frame& frame, uint32_t from) noexcept {
  const size_t least = prefix_bytes(frame.header.kind);
  if (frame.bytes >= least) return true;
  log_line("a frame of kind %u with %zu bytes from rank %u is %s and is ignored", frame.header.kind,
           frame.bytes, from, least == SIZE_MAX ? "of unknown kind" : "too short");
  return false;
}

}  // namespace

void P2p::take_go(PeerState& peer, PrefixReader* reader) noexcept {
  const auto go = reader->take<wire::Go>();
  transfers_.take(peer, go, {reader->next(), reader->left()});
}

void P2p::arrived(btl::Endpoint& from, const btl::Frame& frame) noexcept {
  PeerState& peer = TERN_LIKELY(from.state != nullptr) ? *from.state : peers_.contact(from);
  if (TERN_LIKELY(frame.header.kind == wire::kEager)) {
    matcher_.arrive(peer, frame.header, frame.payload, frame.bytes);
    return;
  }
  if (!well_formed(frame, from.to.peer.rank)) return;
  PrefixReader reader(frame.payload, frame.bytes);
  switch (frame.header.kind) {
    case wire::kGo:
      take_go(peer, &reader);
      break;
    case wire::kLanded:
      transfers_.take(peer, reader.take<wire::Landed>());
      break;
    case wire::kData: {
      const auto prefix = reader.take<wire::DataPrefix>();
      transfers_.take(peer, prefix, reader.next(), reader.left());
      break;
    }
    case wire::kDone:
      transfers_.take(peer, reader.take<wire::Done>());
      break;
    case wire::kFailed:
      transfers_.take(peer, reader.take<wire::Failed>());
      break;
    case wire::kContext:
      matcher_.learn_context(peer, reader.take<wire::ContextTold>());
      break;
    case wire::kPace:
      peer.pace(reader.take<wire::Pace>().eager != 0);
      break;
    case wire::kWithdraw:
      matcher_.withdraw(peer, reader.take<wire::Withdraw>().sender);
      break;
    default:
      matcher_.take_frame(peer, frame);
  }
}

}  // namespace tern::pml
