// SPDX-License-Identifier: Apache-2.0
// Large messages: the pipeline through the transport's memory, the receiver's pull, and both ends
// copying. The receiver chooses when it has matched the announcement (Rts); see take_rts for the
// order of preference.
//   pipeline   receiver: Go; sender: Data, Data, ...; done with the last byte
//   pull       receiver: copies; Done
//   both ends  receiver: Go with its address; both claim chunks, from the front and from the back;
//   Done
// Data that is not one block is packed into a stage, chunk by chunk as the sender gets to it, and
// unpacked from one as chunks come; what is copied is the stage then.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "core/peer.hpp"
#include "pml/p2p.hpp"

namespace tern::pml {
namespace {

/// Of both ends: one system call each; a message that is worth two has one for each end.
size_t chunk_of(const Transfer& transfer) noexcept {
  constexpr size_t kLeast = 16384, kMost = 131072;
  return std::clamp((transfer.bytes / 2 + kLeast - 1) / kLeast * kLeast, kLeast, kMost);
}

uint64_t chunks_of(const Transfer& transfer) noexcept {
  return (transfer.bytes + chunk_of(transfer) - 1) / chunk_of(transfer);
}

/// The block that is copied: the data, or its packed form.
template <class Request>
std::byte* block_of(const Request& request) noexcept {
  if (request.transfer.stage != nullptr) return request.transfer.stage.get();
  return static_cast<std::byte*>(request.buffer.address) + request.buffer.type->true_lb();
}

/// Whether the blocks end within lines of the packed form, which are then written several times.
bool ends_within_lines(const core::Layout& node) noexcept {
  constexpr int64_t kWord = 8, kLine = 64;
  switch (node.form) {
    case core::Layout::Form::kBlock:
      return node.size > kWord && node.size % kLine != 0;
    case core::Layout::Form::kStrided:
    case core::Layout::Form::kList:
      return ends_within_lines(*node.child);
    case core::Layout::Form::kBlocks:
    case core::Layout::Form::kSequence:
      return true;
  }
  return true;
}

/// Packs the next `length` bytes to lines that come from another core: each is written at once.
void pack_lines(const SendRequest& request, std::byte* to, size_t length) noexcept {
  const Buffer& from = request.buffer;
  const size_t offset = request.transfer.moved;
  if (!ends_within_lines(*from.type->layout().node))
    return from.type->pack(from.address, from.count, offset, to, length);
  constexpr size_t kPart = 4096;  // stays in the first cache
  alignas(64) std::byte part[kPart];
  for (size_t at = 0; at < length; at += kPart) {
    const size_t bytes = std::min(kPart, length - at);
    from.type->pack(from.address, from.count, offset + at, part, bytes);
    copy_bytes(to + at, part, bytes);
  }
}

/// Most of what lies between the blocks is none of them: packing waits for memory, and in the
/// pipeline's fragments the way between the cores hides behind that.
bool is_sparse(const Buffer& buffer) noexcept {
  constexpr MPI_Aint kSparse = 8;
  const core::Datatype& type = *buffer.type;
  const MPI_Aint span = buffer.count > 1 ? std::abs(type.extent()) : type.true_extent();
  return span / kSparse > type.size();
}

/// What has come up to `end` goes from the stage to its place.
void unpack_stage(RecvRequest& request, size_t end) noexcept {
  Transfer& transfer = request.transfer;
  if (transfer.stage == nullptr) return;
  request.buffer.type->unpack(request.buffer.address, request.buffer.count, transfer.moved,
                              transfer.stage.get() + transfer.moved, end - transfer.moved);
  transfer.moved = end;
}

/// The bytes of chunk `index`: offset and length.
struct Range {
  size_t offset, length;
  Range(const Transfer& transfer, uint64_t index) noexcept
      : offset(index * chunk_of(transfer)),
        length(std::min(chunk_of(transfer), transfer.bytes - offset)) {}
};

/// Whether a go-ahead says what the announcement has offered. The pipeline may come second, where
/// both ends could not copy.
bool may_go(const SendRequest& request, const wire::Go& go) noexcept {
  const Transfer& transfer = request.transfer;
  if (request.awaits == SendRequest::Awaits::kDone)
    return go.way == wire::Way::kPipeline && transfer.claims != nullptr;
  if (request.awaits != SendRequest::Awaits::kGoOrDone) return false;
  if (go.way == wire::Way::kPipeline) return true;
  if (go.way == wire::Way::kPieces) return transfer.staged();
  return go.way == wire::Way::kBothEnds && transfer.claims != nullptr && go.bytes == transfer.bytes;
}

template <class T>
void drop(std::vector<T*>& list, size_t i) noexcept {
  list[i] = list.back();
  list.pop_back();
}

}  // namespace

// With more ranks than cores the pipeline's frames wake whoever waits; huge messages would take
// their size of memory once more.
bool P2p::open_stage(const Buffer& buffer, Transfer& transfer) noexcept {
  constexpr size_t kMostStaged = 32 << 20;
  if (is_sparse(buffer)) return false;
  if (process_.oversubscribed || transfer.bytes < limits_.pull || transfer.bytes > kMostStaged)
    return false;
  transfer.stage.reset(new (std::nothrow) std::byte[transfer.bytes]);
  return transfer.stage != nullptr;
}

wire::Rts P2p::announce(SendRequest& request) noexcept {
  Transfer& transfer = request.transfer;
  btl::Endpoint& endpoint = *request.peer->endpoint;
  const bool host = !request.buffer.on_device();
  const bool block = host && request.buffer.type->contiguous();
  request.claims_name = 0;
  transfer.claims = nullptr;
  if (host && transfer.bytes >= limits_.both_ends &&
      (block || open_stage(request.buffer, transfer)))
    transfer.claims = endpoint.open_claims(&request.claims_name);
  if (transfer.claims == nullptr) transfer.stage.reset();
  const bool staged = transfer.stage != nullptr;
  if (staged) transfer.claims->ready.store(0, std::memory_order_relaxed);
  return {transfer.bytes, request.handle(),
          block || staged ? reinterpret_cast<uint64_t>(block_of(request)) : 0, request.claims_name,
          staged ? 1U : 0U};
}

void P2p::receive_pipeline(RecvRequest& request) noexcept {
  request.fragments = true;
  outbox_.send_control(*request.peer, wire::kGo,
                       wire::Go{request.transfer.partner, request.handle(), request.transfer.bytes,
                                0, wire::Way::kPipeline, 0});
}

void P2p::receive_both_ends(RecvRequest& request) noexcept {
  outbox_.send_control(
      *request.peer, wire::kGo,
      wire::Go{request.transfer.partner, request.handle(), request.transfer.bytes,
               reinterpret_cast<uint64_t>(block_of(request)), wire::Way::kBothEnds, 0});
}

void P2p::take_go(const PeerState& from, const wire::Go& go) noexcept {
  auto* request = dynamic_cast<SendRequest*>(process_.handles.find<core::Request>(go.sender));
  const bool pipeline = go.way == wire::Way::kPipeline;
  if (request == nullptr || request->peer != &from || !may_go(*request, go)) {
    log_line("a go-ahead for a send that does not wait for it is ignored");
    return;
  }
  request->awaits = pipeline ? SendRequest::Awaits::kNothing : SendRequest::Awaits::kDone;
  request->transfer.partner = go.receiver;
  request->transfer.bytes = std::min<size_t>(request->transfer.bytes, go.bytes);
  request->transfer.remote_address = go.address;
  Traffic& sent = request->peer->sent;
  if (go.way != wire::Way::kPieces) ++(pipeline ? sent.piped : sent.shared);
  if (request->transfer.staged()) request->peer->count_stage(pipeline);
  if (pipeline) {
    request->transfer.claims = nullptr;
    request->transfer.stage.reset();
    request->transfer.moved = 0;
    if (request->pushing) return;  // it shared until now
  } else if (go.way == wire::Way::kBothEnds && request->transfer.stage == nullptr &&
             !request->peer->endpoint->one_sided()) {
    return;  // the receiver copies everything
  }
  request->pushing = true;
  pushing_.push_back(request);
}

void P2p::take_data(const PeerState& from, const wire::DataPrefix& prefix, const std::byte* data,
                    size_t bytes) noexcept {
  auto* request = dynamic_cast<RecvRequest*>(process_.handles.find<core::Request>(prefix.receiver));
  if (request == nullptr || !request->fragments || request->peer != &from ||
      prefix.offset != request->transfer.moved ||
      bytes > request->transfer.bytes - request->transfer.moved) {
    log_line("%zu bytes for a receive that does not exist are ignored", bytes);
    return;
  }
  const core::Datatype& type = *request->buffer.type;
  if (TERN_UNLIKELY(request->buffer.on_device())) return take_bounced(*request, data, bytes);
  if (type.contiguous())
    copy_bytes(block_of(*request) + prefix.offset, data, bytes);
  else
    type.unpack(request->buffer.address, request->buffer.count, prefix.offset, data, bytes);
  request->transfer.moved += bytes;
  if (request->transfer.moved == request->transfer.bytes) finish(*request, MPI_SUCCESS);
}

void P2p::take_done(const PeerState& from, const wire::Done& done) noexcept {
  auto* request = dynamic_cast<SendRequest*>(process_.handles.find<core::Request>(done.sender));
  if (request == nullptr || request->awaits == SendRequest::Awaits::kNothing ||
      request->peer != &from) {
    log_line("the completion of a send that does not wait for it is ignored");
    return;
  }
  if (request->pushing) {
    request->pushing = false;
    pushing_.erase(std::find(pushing_.begin(), pushing_.end(), request));
  }
  if (done.error == wire::kWithdrawn) {
    request->outcome.cancelled = true;
    requests_.finish(*request, MPI_SUCCESS);
    return;
  }
  if (TERN_UNLIKELY(request->transfer.staged()) && !request->transfer.device->job.finish())
    return lose_device(*request);
  if (done.error != MPI_SUCCESS)
    request->error_text = new std::string(
        strf("the receiver (rank %d) could not read the data: is the send buffer valid memory?",
             request->to.rank));
  requests_.finish(*request,
                   done.error < MPI_ERR_LASTCODE ? static_cast<int>(done.error) : MPI_ERR_OTHER);
}

void P2p::tell_done(RecvRequest& request, int error) noexcept {
  outbox_.send_control(*request.peer, wire::kDone,
                       wire::Done{request.transfer.partner, static_cast<uint64_t>(error)});
  finish(request, error);
}

int P2p::move_transfers() noexcept {
  int events = 0;
  for (size_t i = 0; i < pulling_.size();) {
    RecvRequest& request = *pulling_[i];
    bool moved = false;
    const bool ended = pull(request, &moved);
    if (moved) ++events;
    if (ended)
      drop(pulling_, i);
    else
      ++i;
  }
  for (size_t i = 0; i < pushing_.size();) {
    SendRequest& request = *pushing_[i];
    bool moved = false;
    const bool ended = push(request, &moved);
    if (moved) ++events;
    if (ended)
      drop(pushing_, i);
    else
      ++i;
  }
  return events;
}

bool P2p::pull(RecvRequest& request, bool* moved) noexcept {
  Transfer& transfer = request.transfer;
  if (transfer.claims == nullptr) {
    *moved = true;
    if (!pull_chunk(request)) return true;
    if (transfer.moved < transfer.bytes) return false;
    tell_done(request, MPI_SUCCESS);
    return true;
  }
  btl::SharedClaims& claims = *transfer.claims;
  const uint64_t chunks = chunks_of(transfer);
  const uint64_t chunk = claims.claim_front(chunks);
  if (chunk != btl::SharedClaims::kNone) {
    const Range range(transfer, chunk);
    const iovec local{block_of(request) + range.offset, range.length};
    const iovec remote{reinterpret_cast<void*>(transfer.remote_address + range.offset),
                       range.length};
    const int error = request.peer->endpoint->get(&local, 1, &remote, 1);
    if (error != 0) claims.failed.store(static_cast<uint32_t>(error), std::memory_order_relaxed);
    claims.finished.fetch_add(1, std::memory_order_acq_rel);
    unpack_stage(request, range.offset + range.length);
    *moved = true;
  }
  if (claims.finished.load(std::memory_order_acquire) < chunks) return false;
  const uint32_t error = claims.failed.load(std::memory_order_relaxed);
  if (error != 0) {
    copy_failed(request, static_cast<int>(error));
  } else {
    unpack_stage(request, transfer.bytes);
    tell_done(request, MPI_SUCCESS);
  }
  return true;
}

// False when it failed (the request is finished then).
bool P2p::pull_chunk(RecvRequest& request) noexcept {
  Transfer& transfer = request.transfer;
  constexpr size_t kPullAtOnce = 512 << 10;
  const size_t length = std::min(kPullAtOnce, transfer.bytes - transfer.moved);
  const iovec local{block_of(request) + transfer.moved, length};
  const iovec remote{reinterpret_cast<void*>(transfer.remote_address + transfer.moved), length};
  const int error = request.peer->endpoint->get(&local, 1, &remote, 1);
  if (error == 0) {
    const size_t end = transfer.moved + length;
    unpack_stage(request, end);
    transfer.moved = end;
    return true;
  }
  copy_failed(request, error);
  return false;
}

bool P2p::push(SendRequest& request, bool* moved) noexcept {
  const Transfer& transfer = request.transfer;
  if (TERN_UNLIKELY(request.buffer.on_device()))
    return request.awaits == SendRequest::Awaits::kDone ? watch_pieces(request)
                                                        : push_bounced(request, moved);
  if (transfer.claims == nullptr) return push_fragments(request, moved);
  if (transfer.stage != nullptr && transfer.moved < transfer.bytes)
    return pack_chunk(request, moved);
  return push_chunk(request, moved);
}

// The receiver copies the first chunks while the next ones are packed.
bool P2p::pack_chunk(SendRequest& request, bool* moved) noexcept {
  Transfer& transfer = request.transfer;
  const uint32_t chunk = transfer.claims->ready.load(std::memory_order_relaxed);
  const Range range(transfer, chunk);
  request.buffer.type->pack(request.buffer.address, request.buffer.count, range.offset,
                            transfer.stage.get() + range.offset, range.length);
  transfer.moved = range.offset + range.length;
  transfer.claims->ready.store(chunk + 1, std::memory_order_release);
  request.peer->endpoint->nudge();
  *moved = true;
  if (transfer.moved < transfer.bytes || request.peer->endpoint->one_sided()) return false;
  request.pushing = false;  // the receiver copies everything
  return true;
}

bool P2p::push_fragments(SendRequest& request, bool* moved) noexcept {
  Transfer& transfer = request.transfer;
  btl::Endpoint& endpoint = *request.peer->endpoint;
  const size_t most = endpoint.fragment_bytes() - sizeof(wire::DataPrefix);
  while (transfer.moved < transfer.bytes) {
    const size_t length = std::min(most, transfer.bytes - transfer.moved);
    std::byte* room = endpoint.begin_fragment(sizeof(wire::DataPrefix) + length);
    if (room == nullptr) return false;
    const wire::DataPrefix prefix{transfer.partner, transfer.moved};
    std::memcpy(room, &prefix, sizeof prefix);
    if (request.buffer.type->contiguous())
      copy_bytes(room + sizeof prefix, block_of(request) + transfer.moved, length);
    else
      pack_lines(request, room + sizeof prefix, length);
    transfer.moved += length;
    *moved = true;
    endpoint.commit({0, wire::kData, static_cast<uint16_t>(sizeof prefix + length), 0, 0, 0});
  }
  request.pushing = false;
  requests_.finish(request, MPI_SUCCESS);
  return true;
}

bool P2p::push_chunk(SendRequest& request, bool* moved) noexcept {
  btl::SharedClaims& claims = *request.transfer.claims;
  const uint64_t chunk = claims.claim_back(chunks_of(request.transfer));
  if (chunk == btl::SharedClaims::kNone) {
    request.pushing = false;  // the receiver's Done finishes it
    return true;
  }
  const Range range(request.transfer, chunk);
  const iovec local{block_of(request) + range.offset, range.length};
  const iovec remote{reinterpret_cast<void*>(request.transfer.remote_address + range.offset),
                     range.length};
  const int error = request.peer->endpoint->put(&local, 1, &remote, 1);
  if (error != 0) claims.failed.store(static_cast<uint32_t>(error), std::memory_order_relaxed);
  claims.finished.fetch_add(1, std::memory_order_acq_rel);
  request.peer->endpoint->nudge();
  *moved = true;
  return false;
}

}  // namespace tern::pml
