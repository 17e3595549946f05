// SPDX-License-Identifier: Apache-2.0
// Frames out: eager messages, announcements of large ones, and what waits for room.
#include <array>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "core/peer.hpp"
#include "pml/p2p.hpp"
#include "pml/prefix.hpp"

namespace tern::pml {
// The common case, without a request: small, nothing waits before it, the peer knows the
// communicator.
bool P2p::send_eager_now(PeerState& peer, const Buffer& buffer, const Envelope& to,
                         size_t bytes) noexcept {
  const uint32_t index = to.communicator->remote_index(to.rank);
  if (static_cast<int64_t>(bytes) > peer.eager_limit || index == 0 ||
      peer.first_waiting != nullptr || outbox_.is_signing())
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
  requests_.begin(request, lost);
  if (request.peer->first_waiting == nullptr && emit(request)) return;
  outbox_.enqueue(request);
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
  if (complete) requests_.finish(request, MPI_SUCCESS);
  return true;
}

bool P2p::emit_eager(SendRequest& request) noexcept {
  const size_t bytes = request.transfer.bytes;
  const bool sync = request.mode == Mode::kSynchronous;
  btl::Header header;
  std::byte* const room =
      outbox_.begin_frame(request, bytes + (sync ? sizeof(wire::SyncPrefix) : 0), &header);
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
  std::byte* const room = outbox_.begin_frame(request, sizeof(wire::Rts) + named, &header);
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
  std::byte* const room = outbox_.begin_frame(request, sizeof(wire::Rts), &header);
  if (room == nullptr) return false;
  const int lost = request.transfer.lost;
  PrefixWriter(room).put(wire::Rts{request.transfer.bytes, 0, static_cast<uint64_t>(lost), 0, 0});
  header.kind |= wire::kRts;
  request.peer->endpoint->commit(header);
  requests_.finish(request, lost);
  return true;
}

}  // namespace tern::pml
