// SPDX-License-Identifier: Apache-2.0
// Btl: the interface of a byte transfer layer, which carries frames to peers.
//
// Life cycle. Boot publishes each Btl's address at start. The first message to a peer calls
// connect(). Endpoints live as long as their Btl. Channel 0's Btl makes the Btls of further
// channels.
//
// Frames. begin() returns payload space in the transport's memory, the caller fills the space, and
// commit() sends the frame. send() does both for a contiguous block. nullptr or false means "no
// room": the caller retries after progress. The caller sends nothing else between begin() and
// commit(). When send() or commit() returns, the source may be reused.
//
// Ordering. Frames of an endpoint arrive in commit order. Copies and puts are unordered.
//
// Arrival. progress() passes frames to the Sink; the payload is valid during that call. The Sink
// may send from arrived(), but must not call progress(). A caller waiting for one peer may read a
// FrameQueue instead.
//
// Failure. The endpoint of a lost peer accepts and discards frames, and the next progress() calls
// Sink::failed(). After set_leaving(), a lost peer is no failure.
//
// Threads. Callers hold the lock of the Btl's channel. Each pair of channels (c here, r at the
// peer) has an endpoint; r is the communicator's channel hint modulo the peer's number of channels.
//
// Sleeping. A rank sleeps on its doorbell. Peers ring after a commit, and after freeing space in a
// ring. The sleeper polls once between arming and sleeping. If peers cannot ring, the rank also
// sleeps on Btl::alarm, or stays awake (core::Progress::stay_awake).
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

struct Header {
  uint8_t mark;
  uint8_t kind;
  uint16_t bytes;    // of payload; 0 if ZeroCopy
  uint32_t context;  // receiver's index, and the plane
  int32_t tag;
  uint32_t source;  // sender's rank in the communicator
};
static_assert(sizeof(Header) == 16);

/// Transports with 64-byte lines have this payload limit.
inline constexpr size_t kMostPayload = 65536 - 64;

struct Frame {
  Header header;
  const std::byte* payload;
  size_t bytes;
};

class Endpoint;

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void arrived(Endpoint& from, const Frame& frame) noexcept = 0;
  /// failed() reports an unreachable peer, once per endpoint, outside calls of the endpoint.
  virtual void failed(Endpoint& /*to*/, const std::string& /*why*/) noexcept {}
  /// done() reports the end of all parts of an operation, never inside the call that began the
  /// operation.
  virtual void done(Operation& /*operation*/) noexcept {}
};

struct Destination {
  core::Peer& peer;
  uint32_t channel = 0;
  uint32_t channels = 1;
  [[nodiscard]] bool serves(uint32_t hint) const noexcept {
    return (hint & (channels - 1)) == channel;
  }
};

/// A null member of Caps is an absent capability.
struct Caps {
  bool maps = true;
  bool same_process = false;  // the peer is this rank, or a rank in another thread
  FrameQueue* queue = nullptr;
  ZeroCopy* zero_copy = nullptr;
  Rdma* rdma = nullptr;
  PeerCopy* peer_copy = nullptr;
  Claims* claims = nullptr;
};

class Endpoint {
 public:
  Endpoint(const Destination& leads_to, const Caps& can) noexcept : to(leads_to), caps(can) {}
  virtual ~Endpoint() = default;

  const Destination to;
  const Caps caps;
  pml::PeerState* state = nullptr;

  /// The payload of send(), begin() and begin_fragment() has at most max_payload() bytes.
  [[nodiscard]] virtual bool send(const Header& header, const void* payload) noexcept = 0;
  [[nodiscard]] virtual std::byte* begin(size_t bytes) noexcept = 0;
  virtual void commit(const Header& header) noexcept = 0;
  /// begin_fragment() also returns nullptr when more fragments would overflow the caches.
  [[nodiscard]] virtual std::byte* begin_fragment(size_t bytes) noexcept { return begin(bytes); }
  [[nodiscard]] virtual size_t fragment_bytes() const noexcept { return max_payload(); }
  [[nodiscard]] virtual size_t max_payload() const noexcept = 0;

  /// gone() is true after the peer has left MPI, perhaps only between two sessions.
  [[nodiscard]] virtual bool gone() const noexcept { return false; }
  /// The peer has died by other news; frames under way are lost.
  virtual void give_up(const std::string& /*why*/) noexcept {}

  [[nodiscard]] virtual const char* transport() const noexcept = 0;
  [[nodiscard]] virtual const char* reason() const noexcept = 0;
};

class Btl {
 public:
  virtual ~Btl() = default;
  [[nodiscard]] virtual const char* name() const noexcept = 0;
  /// address() is empty if channel 0's address suffices. Throws Error.
  [[nodiscard]] virtual std::string address() { return {}; }
  [[nodiscard]] virtual bool reaches(const core::Peer& peer) const noexcept = 0;
  [[nodiscard]] virtual bool may_lose_peers() const noexcept { return false; }
  /// A transport made for the host's network precedes the others.
  [[nodiscard]] virtual bool goes_first() const noexcept { return false; }
  /// For the first transport between hosts. Throws Error if the network cannot fulfil a parameter
  /// TERN_NET_...
  virtual void require_settings() {}
  /// connect() returns the same endpoint at every call for a `hint`, or nullptr if the transport
  /// cannot reach the peer. Throws Error.
  virtual Endpoint* connect(core::Peer& peer, uint32_t hint) = 0;
  virtual int progress() noexcept = 0;
  /// is_met() is true once each contacted peer has connected back or left MPI.
  [[nodiscard]] virtual bool is_met() const noexcept { return true; }
  /// Channel 0's Btl outlives the result. Throws Error.
  [[nodiscard]] virtual std::unique_ptr<Btl> for_channel(Sink& sink, uint32_t channel) = 0;
  [[nodiscard]] virtual bool is_polled() const noexcept { return true; }
  /// is_quiet() is true once all sent data survives this rank's exit. The caller repeats the call
  /// after progress.
  [[nodiscard]] virtual bool is_quiet() noexcept { return true; }
  virtual void set_leaving() noexcept {}
  /// say_bye() tells a process of another world that no message follows; true once the process has
  /// said so, too. The caller repeats the call after progress.
  [[nodiscard]] virtual bool say_bye(const core::Peer& /*peer*/) noexcept { return true; }
  /// part() closes the endpoints to the process, after say_bye().
  virtual void part(const core::Peer& /*peer*/) noexcept {}
  [[nodiscard]] virtual Alarm alarm() noexcept { return {}; }
  [[nodiscard]] virtual Doorbell* doorbell() noexcept { return nullptr; }
  [[nodiscard]] virtual core::Slabs* slabs() noexcept { return nullptr; }
  /// set_gone() is for channel 0 only.
  virtual void set_gone(bool /*gone*/) noexcept {}
};

}  // namespace tern::btl
