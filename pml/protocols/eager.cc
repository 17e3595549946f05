// SPDX-License-Identifier: Apache-2.0
// Eager: sending and receiving small messages.
#include "pml/protocols/eager.hpp"

#include <array>
#include <cstring>
#include <new>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "core/peer.hpp"
#include "pml/limits.hpp"
#include "pml/prefix.hpp"

namespace tern::pml {
namespace {

/// `aside` is a copy of device memory, because reading may fail.
struct EagerSender final : SenderHalf {
  std::unique_ptr<std::byte[]> aside;
};

}  // namespace

bool Eager::send_now(PeerState& peer, const Buffer& buffer, const Envelope& to,
                     size_t bytes) noexcept {
  const uint32_t index = to.communicator->remote_index(to.rank);
  if (static_cast<int64_t>(bytes) > peer.now_limit || index == 0 || peer.first_waiting != nullptr ||
      outbox_.is_signing())
    return false;
  const btl::Header header = header_for(to, wire::kEager, index, bytes);
  const core::Datatype& type = *buffer.type;
  if (TERN_UNLIKELY(buffer.on_device()))
    return bytes <= kMostEagerOnDevice && send_device_now(peer, buffer, header);
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

bool Eager::send_device_now(PeerState& peer, const Buffer& buffer,
                            const btl::Header& header) noexcept {
  std::array<std::byte, kMostEagerOnDevice> packed;
  if (core::pack(process_, buffer, 0, packed.data(), header.bytes, cuda::MemoryKind::kHost))
    return false;
  if (!peer.endpoint->send(header, packed.data())) return false;
  peer.sent.count(header.bytes);
  return true;
}

int Eager::prepare(SendRequest& request) noexcept {
  const size_t bytes = request.transfer.bytes;
  if (TERN_LIKELY(!request.buffer.on_device()) || bytes == 0 ||
      dynamic_cast<EagerSender*>(request.transfer.half.get()) != nullptr)
    return MPI_SUCCESS;
  std::unique_ptr<EagerSender> half(new (std::nothrow) EagerSender);
  if (half != nullptr) half->aside.reset(new (std::nothrow) std::byte[bytes]);
  const Failure why =
      half != nullptr && half->aside != nullptr
          ? core::pack(process_, request.buffer, 0, half->aside.get(), bytes,
                       cuda::MemoryKind::kHost)
          : failure(MPI_ERR_NO_MEM, "no memory to send %zu bytes of device memory", bytes);
  request.transfer.half = std::move(half);
  if (why) set_error_text(request, why.text);
  return why.code;
}

void Eager::write_prefix(SendRequest& request, PrefixWriter* writer, btl::Header* header) noexcept {
  const bool sync = request.mode == Mode::kSynchronous;
  header->kind |= sync ? wire::kEagerSync : wire::kEager;
  if (sync) writer->put(wire::SyncPrefix{request.handle()});
}

bool Eager::emit(SendRequest& request) noexcept {
  const auto bytes = request.transfer.bytes;
  if (bytes >= kLeastDirect && static_cast<int64_t>(bytes) <= request.peer->direct_limit &&
      is_one_block(request.buffer))
    return emit_direct(request);
  const bool sync = request.mode == Mode::kSynchronous;
  btl::Header header;
  std::byte* const room =
      outbox_.begin_frame(request, bytes + (sync ? sizeof(wire::SyncPrefix) : 0), &header);
  if (room == nullptr) return false;
  PrefixWriter writer(room);
  write_prefix(request, &writer, &header);
  if (sync) request.awaits = SendRequest::Awaits::kDone;
  const Buffer& from = request.buffer;
  if (TERN_UNLIKELY(from.on_device() && bytes != 0))
    std::memcpy(writer.next(), static_cast<EagerSender&>(*request.transfer.half).aside.get(),
                bytes);
  else
    from.type->pack(from.address, from.count, 0, writer.next(), bytes);
  request.peer->endpoint->commit(header);
  return true;
}

bool Eager::emit_direct(SendRequest& request) noexcept {
  static_assert(Outbox::kMostNames + sizeof(wire::SyncPrefix) <= btl::ZeroCopy::kMostPrefix);
  std::array<std::byte, btl::ZeroCopy::kMostPrefix> prefix;
  btl::Header header;
  PrefixWriter writer(outbox_.write_names(request, prefix.data(), &header));
  write_prefix(request, &writer, &header);
  const auto length = static_cast<size_t>(writer.next() - prefix.data());
  const auto begun = request.peer->endpoint->caps.zero_copy->start_send(
      header, {prefix.data(), length}, {request.buffer.first(), request.transfer.bytes},
      request.operation);
  if (TERN_UNLIKELY(begun == btl::Start::kRefused)) request.peer->forgo_direct();
  if (begun == btl::Start::kNoRoom || begun == btl::Start::kRefused) return false;
  if (request.mode == Mode::kSynchronous) request.awaits = SendRequest::Awaits::kDone;
  return true;
}

int Eager::unpack_on_device(RecvRequest& request, const std::byte* data, size_t bytes) noexcept {
  const Failure why =
      core::unpack(process_, request.buffer, 0, data, bytes, cuda::MemoryKind::kHost);
  if (why) set_error_text(request, why.text);
  return why.code;
}

void Eager::receive(RecvRequest& request, const btl::Header& header, const std::byte* data,
                    size_t bytes) noexcept {
  const size_t room = request.buffer.bytes();
  const size_t taken = bytes <= room ? bytes : room;
  const core::Datatype& type = *request.buffer.type;
  int code = MPI_SUCCESS;
  if (TERN_UNLIKELY(request.buffer.on_device()))
    code = unpack_on_device(request, data, taken);
  else if (TERN_LIKELY(type.contiguous()))
    copy_bytes(request.buffer.first(), data, taken);
  else
    type.unpack(request.buffer.address, request.buffer.count, 0, data, taken);
  request.outcome.source = source_of(request.from, *request.peer, header);
  request.outcome.tag = header.tag;
  request.outcome.bytes = static_cast<MPI_Count>(taken);
  if (TERN_UNLIKELY(bytes > room))
    return requests_.fail(request, {MPI_ERR_TRUNCATE, truncation_text(request, bytes, room)});
  if (TERN_UNLIKELY(code != MPI_SUCCESS)) return requests_.finish(request, code);
  requests_.finish(request, MPI_SUCCESS);
}

}  // namespace tern::pml
