// SPDX-License-Identifier: Apache-2.0
// SendRequest, RecvRequest, Message: operations and messages under way.
// Lifetime: pooled by a MessageEngine. A request has a reference of the user's handle and one of
// the running operation; the last release returns the request to the pool.
// Threads: any may call done().
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

/// The type signature of a buffer, for TERN_CHECK=types.
[[nodiscard]] wire::TypeSignature signature_of(const Buffer& buffer) noexcept;

/// The failure of a receive from any source (Membership::lacks_ack()).
[[nodiscard]] Failure unacknowledged(const core::Communicator& communicator);

/// Example: "from rank 1 of MPI_COMM_WORLD with tag 7".
void describe_source(const Envelope& from, WaitReport* report);

struct Traffic {
  uint64_t eager = 0, eager_bytes = 0;
  uint64_t announced = 0, announced_bytes = 0;  // sent by RTS; of these:
  uint64_t piped = 0, shared = 0;               // in fragments, and copied by sender and receiver
  uint64_t put = 0, got = 0;                    // written, and read by RDMA
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

struct alignas(64) PeerState {
  explicit PeerState(btl::Endpoint& by) noexcept : peer(&by.to.peer), endpoint(&by) {}
  core::Peer* peer;
  btl::Endpoint* endpoint;
  PeerState* next = nullptr;
  SendRequest* first_waiting = nullptr;
  SendRequest* last_waiting = nullptr;
  struct Control {
    Control* next;
    btl::Header header;
    std::byte payload[sizeof(wire::Go) + btl::MemoryRegion::kMostKey];
  };
  Control* first_control = nullptr;
  Control* last_control = nullptr;
  PeerState* next_listed = nullptr;
  bool listed = false;
  // Eager limits are in bytes; -1 means RTS only.
  int64_t now_limit = -1;  // limit of sends complete on return
  int64_t eager_limit = -1;
  int64_t direct_limit = -1;  // limit of zero copy
  struct {
    int64_t now, eager, direct;
  } usual{-1, -1, -1};
  /// The adapter cannot read the caller's memory, so eager messages are copied.
  void forgo_direct() noexcept { direct_limit = usual.direct = -1; }
  void pace(bool as_usual) noexcept {
    now_limit = as_usual ? usual.now : -1;
    eager_limit = as_usual ? usual.eager : -1;
    direct_limit = as_usual ? usual.direct : -1;
  }
  void set_limits(const Limits& limits) noexcept;
  size_t kept = 0;
  bool slowed = false;
  uint32_t stages_refused = 0;
  void count_stage(bool refused) noexcept { stages_refused = refused ? stages_refused + 1 : 0; }
  Traffic sent;
  Fate fate;
};

/// NamedData is the data behind an RTS, copied out once, because the sender may still be writing.
class NamedData {
 public:
  NamedData(const wire::Rts& rts, const std::byte* payload, size_t bytes) noexcept
      : payload_(payload),
        bytes_(rts.key == 0 ? bytes : 0),
        key_bytes_(rts.key == bytes && bytes <= btl::MemoryRegion::kMostKey ? bytes : 0) {}
  [[nodiscard]] bool there() const noexcept { return bytes_ >= sizeof(btl::MemoryHandle); }
  [[nodiscard]] btl::MemoryHandle handle() const noexcept {
    btl::MemoryHandle handle;
    std::memcpy(&handle, payload_, sizeof handle);
    return handle;
  }
  [[nodiscard]] std::optional<wire::DevicePieces> pieces() const noexcept {
    wire::DevicePieces pieces;
    if (bytes_ < sizeof(btl::MemoryHandle) + sizeof pieces) return std::nullopt;
    std::memcpy(&pieces, payload_ + sizeof(btl::MemoryHandle), sizeof pieces);
    return pieces;
  }
  /// key() is empty if the RTS brings no key of the named length.
  [[nodiscard]] std::span<const std::byte> key() const noexcept { return {payload_, key_bytes_}; }

 private:
  const std::byte* payload_;
  size_t bytes_;
  size_t key_bytes_;
};

template <class HalfOfThisEnd, class Request>
struct Transfer {
  size_t bytes = 0;
  size_t moved = 0;
  uint64_t partner = 0;
  uint64_t remote_address = 0;
  const Protocol* protocol = nullptr;
  std::unique_ptr<HalfOfThisEnd> half;
  bool polled = false;
  Request *next_polled = nullptr, *previous_polled = nullptr;
};

/// set_error_text() replaces an earlier text. The request owns the copy, and deletes the copy at a
/// restart or at the request's end.
void set_error_text(core::Request& request, const std::string& text) noexcept;
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
  btl::Operation operation;
  bool ending = false;
  int lost = MPI_SUCCESS;  // error class of unreadable data
  bool prepared = false;
  enum class Awaits : uint8_t { kNothing, kGoOrDone, kDone } awaits = Awaits::kNothing;
  void set_persistent(bool persistent) noexcept {
    traits_.persistent = persistent;
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
  PeerState* peer = nullptr;
  Transfer<ReceiverHalf, RecvRequest> transfer;
  bool large = false;
  bool abandoned = false;  // failed, ends after the half's operations
  bool blocking = false;
  /// A possible sender has failed: done with MPIX_ERR_PROC_FAILED_PENDING, but still posted.
  bool pends = false;
  void resume() noexcept {
    pends = false;
    outcome = {};
    restart();
  }
  void set_persistent(bool persistent) noexcept {
    traits_.persistent = persistent;
    set_active(!persistent);
  }
};

struct alignas(64) Message {
  Key key{};
  Hook<Message> hooks[4];
  Message* earlier = nullptr;
  Message* later = nullptr;
  PeerState* from = nullptr;
  btl::Header header{};
  uint64_t sender = 0;  // the request of a synchronous send, else 0
  wire::Rts rts{};
  std::unique_ptr<wire::TypeSignature> signature;
  std::vector<std::byte> data;  // eager data; small vectors keep their capacity
};

/// An RTS counts 0 against the unexpected limit, because a receiver must always accept an RTS.
[[nodiscard]] inline size_t kept_bytes(const Message& message) noexcept {
  return message.header.kind == wire::kRts ? 0 : message.data.size() + sizeof(Message);
}

/// With MPI_ANY_SOURCE, source_of() verifies the header's rank.
[[nodiscard]] int source_of(const Envelope& from, const PeerState& peer,
                            const btl::Header& header) noexcept;

}  // namespace tern::pml
