// SPDX-License-Identifier: Apache-2.0
// Frames out: eager messages, announcements of large ones, and what waits for room.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "core/peer.hpp"
#include "pml/p2p.hpp"

namespace tern::pml {
namespace {

btl::Header header_for(const Envelope& to, uint8_t kind, uint32_t index, size_t payload) noexcept {
  return {0,
          kind,
          static_cast<uint16_t>(payload),
          wire::context_word(index, static_cast<uint32_t>(to.plane)),
          to.tag,
          static_cast<uint32_t>(to.communicator->rank())};
}

/// Writes what stands before the data, piece by piece.
class PrefixWriter {
 public:
  explicit PrefixWriter(std::byte* room) noexcept : next_(room) {}
  template <class T>
  void put(const T& value) noexcept {
    std::memcpy(next_, &value, sizeof value);
    next_ += sizeof value;
  }
  [[nodiscard]] std::byte* next() const noexcept { return next_; }

 private:
  std::byte* next_;
};

}  // namespace

// The common case, without a request: small, nothing waits before it, the peer knows the
// communicator.
bool P2p::send_eager_now(PeerState& peer, const Buffer& buffer, const Envelope& to,
                         size_t bytes) noexcept {
  const uint32_t index = to.communicator->remote_index(to.rank);
  if (static_cast<int64_t>(bytes) > peer.eager_limit || index == 0 ||
      peer.first_waiting != nullptr || signs_)
    return false;
  const btl::Header header = header_for(to, wire::kEager, index, bytes);
  const core::Datatype& type = *buffer.type;
  if (TERN_UNLIKELY(buffer.on_device())) return send_device_now(peer, buffer, header);
  if (TERN_LIKELY(type.contiguous())) {
    const auto* data = static_cast<const std::byte*>(buffer.address) + type.true_lb();
    if (TERN_UNLIKELY(!peer.endpoint->send(header, data))) return false;
  } else {
    std::byte* room = peer.endpoint->begin(bytes);
    if (room == nullptr) return false;
    type.pack(buffer.address, buffer.count, 0, room, bytes);
    peer.endpoint->commit(header);
  }
  peer.sent.count(bytes);
  return true;
}

// What cannot be read is a request's affair, which tells the receiver.
bool P2p::send_device_now(PeerState& peer, const Buffer& buffer,
                          const btl::Header& header) noexcept {
  std::array<std::byte, kMostEager> packed;
  if (core::pack(process_, buffer, 0, packed.data(), header.bytes) != MPI_SUCCESS) {
    (void)take_last_error();
    return false;
  }
  if (!peer.endpoint->send(header, packed.data())) return false;
  peer.sent.count(header.bytes);
  return true;
}

// Device memory goes aside first, for that may fail; host memory is packed into the frame. 0, or
// an error class with the request's text.
int P2p::pack_eager(SendRequest& request) noexcept {
  Transfer& transfer = request.transfer;
  if (!request.buffer.on_device() || transfer.stage != nullptr || transfer.bytes == 0)
    return MPI_SUCCESS;
  transfer.stage.reset(new (std::nothrow) std::byte[transfer.bytes]);
  int code = MPI_ERR_NO_MEM;
  if (transfer.stage != nullptr)
    code = core::pack(process_, request.buffer, 0, transfer.stage.get(), transfer.bytes);
  if (code != MPI_SUCCESS) request.error_text = new std::string(take_last_error().text);
  return code;
}

void P2p::start(SendRequest& request, int lost) noexcept {
  request.restart();
  request.outcome = {};
  request.transfer = {};
  request.transfer.bytes = request.buffer.bytes();
  request.transfer.lost = lost;
  request.next_waiting = nullptr;
  request.awaits = SendRequest::Awaits::kNothing;
  request.retain();  // the operation's reference
  ++request.communicator->pending;
  if (!request.buffer.type->predefined()) request.buffer.type->retain();
  PeerState& peer = *request.peer;
  if (peer.first_waiting == nullptr && emit(request)) return;
  (peer.last_waiting == nullptr ? peer.first_waiting : peer.last_waiting->next_waiting) = &request;
  peer.last_waiting = &request;
  list_waiting(peer);
}

// Room for a message's frame of so many bytes, behind the names that the peer needs; null where
// there is none.
std::byte* P2p::begin_frame(const SendRequest& request, size_t bytes,
                            btl::Header* header) noexcept {
  const uint32_t index = request.communicator->remote_index(request.to.rank);
  const bool is_signed = signs_ && request.to.plane == Plane::kUser;
  bytes += (index == 0 ? sizeof(wire::LongContext) : 0) + (is_signed ? sizeof(wire::Signature) : 0);
  std::byte* const room = request.peer->endpoint->begin(bytes);
  if (room == nullptr) return nullptr;
  PrefixWriter writer(room);
  uint8_t flags = 0;
  if (index == 0) {
    const core::ContextId id = request.communicator->id();
    writer.put(wire::LongContext{id.creator, id.counter});
    flags |= wire::kLong;
  }
  if (is_signed) {
    writer.put(signature_of(request.buffer));
    flags |= wire::kSigned;
  }
  *header = header_for(request.to, flags, index, bytes);
  return writer.next();
}

// Sends the first frame of `request`: the whole of an eager message, the announcement of a large
// one. False where there is no room.
bool P2p::emit(SendRequest& request) noexcept {
  const bool eager = static_cast<int64_t>(request.transfer.bytes) <= request.peer->eager_limit;
  if (request.transfer.lost == MPI_SUCCESS)
    request.transfer.lost = eager ? pack_eager(request) : offer_device(request);
  if (TERN_UNLIKELY(request.transfer.lost != MPI_SUCCESS)) return emit_lost(request);
  // To itself all of it may happen at once: what waits for an answer may have ended on return.
  const bool complete = eager && request.mode != Mode::kSynchronous;
  const size_t bytes = request.transfer.bytes;
  PeerState& peer = *request.peer;
  if (!(eager ? emit_eager(request) : emit_announcement(request))) return false;
  peer.sent.count(bytes, eager);
  if (complete) finish(request, MPI_SUCCESS);
  return true;
}

bool P2p::emit_eager(SendRequest& request) noexcept {
  const size_t bytes = request.transfer.bytes;
  const bool sync = request.mode == Mode::kSynchronous;
  btl::Header header;
  std::byte* const room =
      begin_frame(request, bytes + (sync ? sizeof(wire::SyncPrefix) : 0), &header);
  if (room == nullptr) return false;
  PrefixWriter writer(room);
  header.kind |= sync ? wire::kEagerSync : wire::kEager;
  if (sync) {
    writer.put(wire::SyncPrefix{request.handle()});
    request.awaits = SendRequest::Awaits::kDone;
  }
  const Buffer& from = request.buffer;
  if (TERN_UNLIKELY(request.transfer.stage != nullptr))
    std::memcpy(writer.next(), request.transfer.stage.get(), bytes);
  else
    from.type->pack(from.address, from.count, 0, writer.next(), bytes);
  request.peer->endpoint->commit(header);
  return true;
}

bool P2p::emit_announcement(SendRequest& request) noexcept {
  const DeviceTransfer* const device = request.transfer.device.get();
  const bool carded = TERN_UNLIKELY(device != nullptr) && device->carded;
  const bool pieced = carded && device->block.valid();
  const size_t named = (carded ? sizeof(btl::MemoryCard) : 0) + (pieced ? sizeof(wire::Pieces) : 0);
  btl::Header header;
  std::byte* const room = begin_frame(request, sizeof(wire::Rts) + named, &header);
  if (room == nullptr) return false;
  PrefixWriter writer(room);
  header.kind |= wire::kRts;
  request.awaits = SendRequest::Awaits::kGoOrDone;
  writer.put(announce(request));
  if (carded) {
    writer.put(device->card);
    header.kind |= wire::kCarded;
  }
  if (pieced) writer.put(device->pieces);
  request.peer->endpoint->commit(header);
  return true;
}

// Nobody is to wait for data that cannot be read: it is announced as lost. False where there is no
// room.
bool P2p::emit_lost(SendRequest& request) noexcept {
  btl::Header header;
  std::byte* const room = begin_frame(request, sizeof(wire::Rts), &header);
  if (room == nullptr) return false;
  const int lost = request.transfer.lost;
  PrefixWriter(room).put(wire::Rts{request.transfer.bytes, 0, static_cast<uint64_t>(lost), 0, 0});
  header.kind |= wire::kRts;
  request.peer->endpoint->commit(header);
  finish(request, lost);
  return true;
}

void P2p::finish(SendRequest& request, int error) noexcept {
  if (request.claims_name != 0) {
    request.peer->endpoint->close_claims(request.claims_name);
    request.claims_name = 0;
  }
  if (!request.buffer.type->predefined()) request.buffer.type->release();
  core::Communicator* communicator = request.communicator;
  request.transfer.stage.reset();
  request.transfer.device.reset();
  request.awaits = SendRequest::Awaits::kNothing;
  if (TERN_UNLIKELY(error != MPI_SUCCESS)) {
    request.outcome.error = error;
    request.keep_communicator();
  }
  request.complete();
  request.release();
  communicator->operation_ended();
}

void P2p::send_control(PeerState& peer, uint8_t kind, const void* payload, size_t bytes) noexcept {
  const btl::Header header{0, kind, static_cast<uint16_t>(bytes), 0, 0, 0};
  if (peer.controls.empty() && peer.endpoint->send(header, payload)) return;
  PeerState::Control control{};
  control.header = header;
  std::memcpy(control.payload, payload, bytes);
  peer.controls.push_back(control);
  list_waiting(peer);
}

void P2p::list_waiting(PeerState& peer) noexcept {
  if (peer.listed) return;
  peer.listed = true;
  waiting_.push_back(&peer);
}

// Takes a request out of the queue of those that found no room; false where it is not there.
bool P2p::unlist(SendRequest& request) noexcept {
  PeerState& peer = *request.peer;
  SendRequest* before = nullptr;
  for (SendRequest* at = peer.first_waiting; at != nullptr; before = at, at = at->next_waiting) {
    if (at != &request) continue;
    (before == nullptr ? peer.first_waiting : before->next_waiting) = at->next_waiting;
    if (peer.last_waiting == at) peer.last_waiting = before;
    return true;
  }
  return false;
}

int P2p::send_waiting() noexcept {
  int sent = 0;
  for (size_t i = 0; i < waiting_.size();) {
    PeerState& peer = *waiting_[i];
    if (flush(peer)) {
      peer.listed = false;
      waiting_[i] = waiting_.back();
      waiting_.pop_back();
      ++sent;
    } else {
      ++i;
    }
  }
  return sent;
}

void P2p::send_all_waiting() noexcept {
  const core::ChannelLock lock(channel_.progress);
  const auto all_sent = [this] {
    return std::all_of(waiting_.begin(), waiting_.end(),
                       [](const PeerState* peer) { return peer->endpoint->gone(); });
  };
  channel_.progress.wait(all_sent, [this](WaitReport* report) {
    report->words += "room to send what is still under way";
    for (const PeerState* peer : waiting_) report->wait_for(static_cast<int>(peer->peer->rank));
  });
}

// True when nothing waits any more.
bool P2p::flush(PeerState& peer) noexcept {
  size_t sent = 0;
  while (sent < peer.controls.size() &&
         peer.endpoint->send(peer.controls[sent].header, peer.controls[sent].payload))
    ++sent;
  peer.controls.erase(peer.controls.begin(),
                      peer.controls.begin() + static_cast<std::ptrdiff_t>(sent));
  if (!peer.controls.empty()) return false;
  while (peer.first_waiting != nullptr) {
    SendRequest* request = peer.first_waiting;
    SendRequest* next = request->next_waiting;  // emit may finish and recycle it
    if (!emit(*request)) return false;
    peer.first_waiting = next;
    if (next == nullptr) peer.last_waiting = nullptr;
  }
  return true;
}

}  // namespace tern::pml
