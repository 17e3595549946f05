// SPDX-License-Identifier: Apache-2.0
// Btl: a byte transfer layer carries frames to peers. capabilities.hpp has the interfaces to all
// other capabilities of endpoints.
//
// Life cycle. A Btl is made with the process (transport.hpp), gives its address, which boot
// publishes (connection_info.hpp), and connects to a peer at the first message, never before:
// connect() looks the peer's address up (address_book.hpp) and gives an Endpoint, or nullptr where
// this transport cannot reach that peer (the next one is asked).
// Endpoints live as long as the Btl. Channel 0's makes those of further channels, which may share
// what it has.
//
// Frames. A frame is a 16-byte Header and at most max_payload() bytes. begin() gives the room for
// the payload in the transport's own memory, the caller fills it (packing derived types right
// there), commit() sends it. send() does both for a plain block. nullptr or false say "no room
// now": try again after progress; nothing was sent.
//
// Ordering. Frames of one endpoint arrive in the order of their commits; copies and puts have no
// order with frames.
//
// Arrival. progress() hands frames to the Sink; the payload is valid during that call only. A
// caller that waits for one peer may take its frames from a FrameQueue. The Sink may send from
// inside arrived(), never call progress().
//
// Completion. send, begin/commit: the source may be reused on return.
//
// Failure. A transport between hosts may lose a peer: its endpoint takes everything from then on
// and sends nothing, and the Sink is told in the next progress(). After set_leaving() peers may go
// as they like.
//
// Threads. A Btl belongs to one channel: all calls on it under that channel's lock. Other processes
// use the shared memory at any time. What goes from channel c of one process to channel r of
// another has an endpoint of its own (and arrives in order); which r: the communicator's channel
// hint says, taken modulo the peer's number of channels.
//
// Sleeping. A rank sleeps on its doorbell (Table::doorbell). A sender that commits a frame to it
// rings, and so does a peer that frees room that it may wait for; the sleeper polls once more
// between arming and sleeping. Where peers cannot ring, since they are on other hosts, it sleeps on
// the transport's descriptor as well (Btl::alarm), or not at all (core::Progress::stay_awake).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/doorbell.hpp"
#include "btl/capabilities.hpp"

namespace tern::boot {
class Boot;
}
namespace tern::core {
class Process;
class Slabs;
struct Peer;
}  // namespace tern::core
namespace tern::pml {
struct PeerState;
}
namespace tern::btl {

/// What every frame begins with. `mark` belongs to the transport; the rest is the pml's.
struct Header {
  uint8_t mark;
  uint8_t kind;
  uint16_t bytes;    // of payload; 0 in frames of ZeroCopy, which may be longer
  uint32_t context;  // receiver's index of the communicator, and the plane
  int32_t tag;
  uint32_t source;  // the sender's rank in the communicator
};
static_assert(sizeof(Header) == 16);

/// The most payload of a frame whose transport has lines of 64 bytes: Header::bytes counts to
/// 65,535.
inline constexpr size_t kMostPayload = 65536 - 64;

/// A frame that arrived.
struct Frame {
  Header header;
  const std::byte* payload;
  size_t bytes;  // of payload
};

class Endpoint;

/// Who takes arrivals (pml implements it).
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void arrived(Endpoint& from, const Frame& frame) noexcept = 0;
  /// The peer cannot be reached any more; `why` in words. Once for an endpoint, whose frames are
  /// dropped from then on in both directions. Never inside a call of the endpoint.
  virtual void failed(Endpoint& /*to*/, const std::string& /*why*/) noexcept {}
  /// No part of the operation is under way any more. Where its endpoint has failed, failed() is
  /// told as well, before or after. Never inside the call that began it.
  virtual void done(Operation& /*operation*/) noexcept {}
};

/// Where an endpoint leads: one of so many channels (a power of two) of a peer.
struct Destination {
  core::Peer& peer;
  uint32_t channel = 0;
  uint32_t channels = 1;
  /// Whether communicators of this channel hint go there.
  [[nodiscard]] bool serves(uint32_t hint) const noexcept {
    return (hint & (channels - 1)) == channel;
  }
};

/// Facts about the peer of an endpoint, and the endpoint's capabilities: null: not there.
struct Caps {
  bool maps = true;           // the peer may map device memory of this process
  bool same_process = false;  // the peer is this process: the own rank, a rank that is a thread
  FrameQueue* queue = nullptr;
  ZeroCopy* zero_copy = nullptr;
  Rdma* rdma = nullptr;
  PeerCopy* peer_copy = nullptr;
  Claims* claims = nullptr;
};

/// The way to one peer.
class Endpoint {
 public:
  Endpoint(const Destination& leads_to, const Caps& can) noexcept : to(leads_to), caps(can) {}
  virtual ~Endpoint() = default;

  const Destination to;
  const Caps caps;
  pml::PeerState* state = nullptr;  // the sink's own

  /// Sends a frame whose payload is one block of at most max_payload() bytes. `header.bytes` says
  /// how many.
  [[nodiscard]] virtual bool send(const Header& header, const void* payload) noexcept = 0;
  /// Room for a payload of `bytes`, to be filled before commit(); nothing else may be sent in
  /// between.
  [[nodiscard]] virtual std::byte* begin(size_t bytes) noexcept = 0;
  virtual void commit(const Header& header) noexcept = 0;
  /// begin() for one of many fragments of a large message: also nullptr where more in flight would
  /// only leave the caches.
  [[nodiscard]] virtual std::byte* begin_fragment(size_t bytes) noexcept { return begin(bytes); }
  /// Bytes of a fragment that suit this transport; at most max_payload().
  [[nodiscard]] virtual size_t fragment_bytes() const noexcept { return max_payload(); }
  [[nodiscard]] virtual size_t max_payload() const noexcept = 0;

  /// Whether the peer has left MPI, perhaps for a while: it needs nothing any more.
  [[nodiscard]] virtual bool gone() const noexcept { return false; }

  [[nodiscard]] virtual const char* transport() const noexcept = 0;
  /// Why this transport: "shared memory: the same host".
  [[nodiscard]] virtual const char* reason() const noexcept = 0;
};

class Btl {
 public:
  virtual ~Btl() = default;
  [[nodiscard]] virtual const char* name() const noexcept = 0;
  /// What a peer needs to reach this channel of this process, as bytes that only this transport
  /// reads; at most some hundred. Empty: nothing, or channel 0's will do. Published before any peer
  /// connects. Throws Error.
  [[nodiscard]] virtual std::string address() { return {}; }
  /// Whether connect() would give an endpoint; sends nothing and makes nothing.
  [[nodiscard]] virtual bool reaches(const core::Peer& peer) const noexcept = 0;
  /// Whether peers may be lost: a rank keeps contact with a peer while it waits for the peer.
  [[nodiscard]] virtual bool may_lose_peers() const noexcept { return false; }
  /// Whether it is asked before others that may lose peers: its network is made for it.
  [[nodiscard]] virtual bool goes_first() const noexcept { return false; }
  /// The endpoint to the channel of `peer` that serves `hint`, or nullptr where this transport does
  /// not reach it; the same at every call. Throws Error.
  virtual Endpoint* connect(core::Peer& peer, uint32_t hint) = 0;
  /// Hands what has arrived to the sink; how many frames.
  virtual int progress() noexcept = 0;
  /// Whether all peers that this rank is in contact with can do without it: they have met it in
  /// turn, or have left themselves.
  [[nodiscard]] virtual bool is_met() const noexcept { return true; }
  /// The same transport for a further channel of this process. Asked of channel 0's, which lives
  /// longer. Throws Error.
  [[nodiscard]] virtual std::unique_ptr<Btl> for_channel(Sink& sink, uint32_t channel) = 0;
  /// Whether frames arrive in progress(), which is called in every round then.
  [[nodiscard]] virtual bool is_polled() const noexcept { return true; }
  /// Whether nothing that this rank has sent can still be lost if it leaves: asked between rounds
  /// of progress until it is so.
  [[nodiscard]] virtual bool is_quiet() noexcept { return true; }
  /// This rank and its peers need nothing of each other any more: a peer that is gone from now on
  /// is no failure.
  virtual void set_leaving() noexcept {}
  /// What tells of arrivals where peers cannot ring; none where they can.
  [[nodiscard]] virtual Alarm alarm() noexcept { return {}; }
  /// Where this rank sleeps, and peers of this transport ring it; null where they cannot.
  [[nodiscard]] virtual Doorbell* doorbell() noexcept { return nullptr; }
  /// Memory that the ranks of this host share through this transport; null without.
  [[nodiscard]] virtual core::Slabs* slabs() noexcept { return nullptr; }
  /// Tells peers whether this rank is outside MPI, between two sessions. Asked of channel 0's.
  virtual void set_gone(bool /*gone*/) noexcept {}
};

}  // namespace tern::btl
