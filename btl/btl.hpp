// SPDX-License-Identifier: Apache-2.0
// Btl: a byte transfer layer carries frames to peers and, where it can, reads and writes their
// memory.
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
// Ordering. Frames of one endpoint arrive in the order of their commits. get and put are not
// ordered with frames.
//
// Arrival. progress() hands frames to the Sink; the payload is valid during that call only. A
// caller that waits for one peer may look itself: peek() shows the next frame of that peer, pop()
// consumes it. The Sink may send from inside arrived(), never call progress().
//
// Completion. send, begin/commit: the source may be reused on return. get and put: on return.
// send_direct, start_put, start_flush: when the Operation is done, which the Sink is told of in
// progress().
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

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/doorbell.hpp"

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
  uint16_t bytes;    // of payload; 0 in what send_direct sends, which may be longer
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

/// Memory of a caller that transports still read, until it is done. Of its maker, who sets `owner`;
/// it stays where it is while `left` is not 0.
struct Operation {
  uint32_t left = 0;  // parts that are under way; counted by the transport
  void* owner = nullptr;
};

/// What has become of something that a transport was asked to begin.
enum class Start : uint8_t {
  kNoRoom,   // nothing: try again after progress
  kStarted,  // it is a part of the Operation
  kDone,     // all of it, already
};

/// Memory of this process that one peer may write, until this goes. `key`: what the peer needs for
/// that, as bytes of the transport's.
class Region {
 public:
  virtual ~Region() = default;
  static constexpr size_t kMostKey = 256;
  [[nodiscard]] virtual std::span<const std::byte> key() const noexcept = 0;
};
/// The same at the peer. It outlives the operations that name it.
class RemoteRegion {
 public:
  virtual ~RemoteRegion() = default;
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

/// A counter pair in memory that both ends see: one claims chunks from the front, the other from
/// the back.
struct SharedClaims;

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

/// What an endpoint can do, beside sending frames.
struct Caps {
  bool peeks = true;  // peek() and pop() show what has arrived; else frames come in progress() only
  bool maps = true;   // the peer may map device memory of this process
  size_t direct = 0;  // bytes of data that send_direct sends at most; 0: it is not there
  bool puts = false;  // enlist, open, start_put and start_flush are there
  bool puts_itself = false;  // the network does that, without the peer's processor
};

/// The way to one peer.
class Endpoint {
 public:
  explicit Endpoint(const Destination& leads_to, const Caps& can = {}) noexcept
      : to(leads_to), caps(can) {}
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
  /// Sends a frame without copying its data: the payload is `prefix` (at most kMostPrefix bytes,
  /// which are copied) and behind it `data` (at most caps.direct), which stays as it is until the
  /// operation is done where the answer is kStarted.
  static constexpr size_t kMostPrefix = 96;
  [[nodiscard]] virtual Start send_direct(const Header& /*header*/, const iovec& /*prefix*/,
                                          const iovec& /*data*/,
                                          Operation& /*operation*/) noexcept {
    return Start::kNoRoom;
  }
  /// Lets the peer write this memory; null where that cannot be.
  [[nodiscard]] virtual std::unique_ptr<Region> enlist(void* /*address*/,
                                                       size_t /*bytes*/) noexcept {
    return nullptr;
  }
  /// From the key of a region of the peer's; null where no region has it.
  [[nodiscard]] virtual std::unique_ptr<RemoteRegion> open(
      std::span<const std::byte> /*key*/) noexcept {
    return nullptr;
  }
  /// Writes to the peer's memory. Done: the source may be reused; start_flush tells when all that
  /// was put before is there. In no order with anything else.
  [[nodiscard]] virtual Start start_put(const RemoteRegion& /*region*/, uint64_t /*address*/,
                                        const iovec& /*from*/, Operation& /*operation*/) noexcept {
    return Start::kNoRoom;
  }
  [[nodiscard]] virtual Start start_flush(Operation& /*operation*/) noexcept {
    return Start::kNoRoom;
  }
  /// Bytes of a fragment that suit this transport; at most max_payload().
  [[nodiscard]] virtual size_t fragment_bytes() const noexcept { return max_payload(); }
  [[nodiscard]] virtual size_t max_payload() const noexcept = 0;

  /// The next frame from this peer, if there is one. The same until pop().
  [[nodiscard]] virtual bool peek(Frame* frame) noexcept = 0;
  virtual void pop() noexcept = 0;

  /// Whether get and put work with this peer (found by trying once; the reason is explained).
  [[nodiscard]] virtual bool one_sided() noexcept { return false; }
  /// Copies between own memory and the peer's: 0 or an errno. At most 1,024 pieces and 0x7ffff000
  /// bytes a call.
  [[nodiscard]] virtual int get(const iovec* local, size_t locals, const iovec* remote,
                                size_t remotes) noexcept = 0;
  [[nodiscard]] virtual int put(const iovec* local, size_t locals, const iovec* remote,
                                size_t remotes) noexcept = 0;

  /// A claim pair that the peer can see too: own (named by *name, 0 if all are taken) and the
  /// peer's.
  virtual SharedClaims* open_claims(uint32_t* name) noexcept {
    *name = 0;
    return nullptr;
  }
  virtual void close_claims(uint32_t /*name*/) noexcept {}
  [[nodiscard]] virtual SharedClaims* peer_claims(uint32_t /*name*/) noexcept { return nullptr; }

  /// Whether the peer is this process (the own rank, a rank that is a thread).
  [[nodiscard]] virtual bool same_process() const noexcept { return false; }

  /// Whether the peer has left MPI, perhaps for a while: it needs nothing any more.
  [[nodiscard]] virtual bool gone() const noexcept { return false; }

  /// Wakes the peer where it sleeps: something has changed in memory that both see.
  virtual void nudge() noexcept {}

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
  /// Whether peers may be lost: who waits for one of them has to be in contact with it.
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
