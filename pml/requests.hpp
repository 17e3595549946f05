// SPDX-License-Identifier: Apache-2.0
// SendRequest, RecvRequest, Message: what the pml keeps of operations and messages under way.
// Lifetime: pooled by a MessageEngine; a request returns to its pool with its last reference
// (core/request.hpp). Threads: under the channel's lock; done() is read without it.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fate.hpp"
#include "btl/btl.hpp"
#include "btl/device.hpp"
#include "pml/match.hpp"
#include "pml/pml.hpp"
#include "pml/protocol.hpp"
#include "pml/wire.hpp"

namespace tern::pml {

class MessageEngine;
struct SendRequest;

/// What a send says of its types (TERN_CHECK=types).
[[nodiscard]] wire::Signature signature_of(const Buffer& buffer) noexcept;

/// "from rank 1 of MPI_COMM_WORLD with tag 7" into the report's words, and the ranks it means.
void describe_source(const Envelope& from, WaitReport* report);

/// What has gone to a peer, and how: for TERN_EXPLAIN.
struct Traffic {
  uint64_t eager = 0, eager_bytes = 0;          // sent before the receive was known
  uint64_t announced = 0, announced_bytes = 0;  // larger ones, of these:
  uint64_t piped = 0, shared = 0;  // in fragments; copied by both ends. The rest was read
  void count(size_t bytes) noexcept {
    ++eager;
    eager_bytes += bytes;
  }
  void count(size_t bytes, bool at_once) noexcept {
    if (at_once) return count(bytes);
    ++announced;
    announced_bytes += bytes;
  }
};

/// The pml's side of a peer's channel.
struct alignas(64) PeerState {
  explicit PeerState(btl::Endpoint& by) noexcept : peer(&by.to.peer), endpoint(&by) {}
  core::Peer* peer;
  btl::Endpoint* endpoint;
  PeerState* next = nullptr;             // of the same peer
  SendRequest* first_waiting = nullptr;  // sends that found no room, in order
  SendRequest* last_waiting = nullptr;
  struct Control {
    Control* next;
    btl::Header header;
    std::byte payload[sizeof(wire::Go) + btl::MemoryRegion::kMostKey];
  };
  Control* first_control = nullptr;  // frames about transfers that found no room, in order
  Control* last_control = nullptr;
  PeerState* next_listed = nullptr;  // in the outbox's list of peers with something waiting
  bool listed = false;
  // Bytes of what goes to it before its receive is known; -1 while it has too much of ours.
  int64_t now_limit = -1;     // without a request: in a frame that is done on return
  int64_t eager_limit = -1;   // in a frame that is filled
  int64_t direct_limit = -1;  // in one that the transport sends from where the data lies
  struct {
    int64_t now, eager, direct;
  } usual{-1, -1, -1};
  void pace(bool as_usual) noexcept {
    now_limit = as_usual ? usual.now : -1;
    eager_limit = as_usual ? usual.eager : -1;
    direct_limit = as_usual ? usual.direct : -1;
  }
  void set_limits(const Limits& limits) noexcept;
  size_t kept = 0;              // payload from it that waits for receives
  bool slowed = false;          // it was told to send announcements only
  uint32_t stages_refused = 0;  // messages, one after the other, whose block it could not map
  void count_stage(bool refused) noexcept { stages_refused = refused ? stages_refused + 1 : 0; }
  Traffic sent;
  Fate fate;  // dead: nothing reaches it any more
};

/// What stands after an announcement where the data lies on a device. Frames do not align their
/// payload, and the sender may still be writing: each is copied out, once.
class NamedData {
 public:
  NamedData(const std::byte* payload, size_t bytes) noexcept : payload_(payload), bytes_(bytes) {}
  [[nodiscard]] bool there() const noexcept { return bytes_ >= sizeof(btl::MemoryHandle); }
  [[nodiscard]] btl::MemoryHandle handle() const noexcept {
    btl::MemoryHandle handle;
    std::memcpy(&handle, payload_, sizeof handle);
    return handle;
  }
  /// Where the data is staged.
  [[nodiscard]] std::optional<wire::Pieces> pieces() const noexcept {
    wire::Pieces pieces;
    if (bytes_ < sizeof(btl::MemoryHandle) + sizeof pieces) return std::nullopt;
    std::memcpy(&pieces, payload_ + sizeof(btl::MemoryHandle), sizeof pieces);
    return pieces;
  }

 private:
  const std::byte* payload_;
  size_t bytes_;
};

/// The data of a large message, while it is under way: what every protocol has.
template <class HalfOfThisEnd, class Request>
struct Transfer {
  size_t bytes = 0;             // that travel
  size_t moved = 0;             // of these, done, where the protocol counts them
  uint64_t partner = 0;         // the other end's request
  uint64_t remote_address = 0;  // receiver: of the sender's data, where it is one block
  const Protocol* protocol = nullptr;
  std::unique_ptr<HalfOfThisEnd> half;
  bool polled = false;  // the half is asked in progress
  Request *next_polled = nullptr, *previous_polled = nullptr;
};

/// Both: the text of a late failure; it replaces one that is there already (truncation, types).
void set_error_text(core::Request& request, const std::string& text) noexcept;
/// Of a message that is longer than its receive.
[[nodiscard]] std::string truncation_text(const RecvRequest& request, size_t bytes, size_t room);

struct alignas(64) SendRequest final : core::Request {
  explicit SendRequest(MessageEngine& owner) noexcept;
  int start() noexcept override;
  bool cancel() noexcept override;
  void cancel_locked() noexcept override;
  void describe(WaitReport* report) const override;
  void destroy() noexcept override;

  MessageEngine& engine;
  Buffer buffer{};
  Envelope to{};
  Mode mode = Mode::kStandard;
  PeerState* peer = nullptr;
  SendRequest* next_waiting = nullptr;
  Transfer<SenderHalf, SendRequest> transfer;
  btl::Operation operation;  // what the transport still reads of the buffer
  bool ending = false;       // all is said, but for that
  int lost = MPI_SUCCESS;    // why its data cannot be read: an error class
  bool prepared = false;     // its half is what the announcement offers
  /// What the receiver may say next; anything else from it is refused.
  enum class Awaits : uint8_t { kNothing, kGoOrDone, kDone } awaits = Awaits::kNothing;
  void set_persistent(bool persistent) noexcept {
    persistent_ = persistent;
    set_active(!persistent);
  }
};

struct alignas(64) RecvRequest final : core::Request {
  explicit RecvRequest(MessageEngine& owner) noexcept;
  int start() noexcept override;
  bool cancel() noexcept override;
  void cancel_locked() noexcept override;
  void describe(WaitReport* report) const override;
  void destroy() noexcept override;

  MessageEngine& engine;
  Buffer buffer{};
  Envelope from{};
  Key key{};
  uint64_t posted_at = 0;
  Hook<RecvRequest> hooks[1];
  PeerState* peer = nullptr;  // once matched
  Transfer<ReceiverHalf, RecvRequest> transfer;
  bool large = false;  // its data is under way
  void set_persistent(bool persistent) noexcept {
    persistent_ = persistent;
    set_active(!persistent);
  }
};

/// A message that came before its receive.
struct alignas(64) Message {
  Key key{};
  Hook<Message> hooks[4];
  Message* earlier = nullptr;
  Message* later = nullptr;
  PeerState* from = nullptr;
  btl::Header header{};
  uint64_t sender = 0;  // to be told when it is matched (synchronous), else 0
  wire::Rts rts{};
  std::unique_ptr<wire::Signature> signature;  // where the sender signs
  std::vector<std::byte> data;  // of an eager message; its capacity is kept for small ones
};

/// What a kept message counts: its payload and itself; an announcement must always get through.
[[nodiscard]] inline size_t kept_bytes(const Message& message) noexcept {
  return message.header.kind == wire::kRts ? 0 : message.data.size() + sizeof(Message);
}

/// The sender's rank in the receive's communicator: what the header says is checked where the
/// receive does not name it.
[[nodiscard]] int source_of(const Envelope& from, const PeerState& peer,
                            const btl::Header& header) noexcept;

}  // namespace tern::pml
