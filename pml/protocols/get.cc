// SPDX-License-Identifier: Apache-2.0
// Get: the receiver reads the data by RDMA, piece by piece.
//   sender: RTS with the address and the region's key; receiver: gets; Done.
// Why: a round trip less than puts, and the receiver may have holes. Both ends register memory
// first, so a get under way does not fail for lack of locked memory.
#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "pml/protocols/chunks.hpp"
#include "pml/protocols/rdma.hpp"

namespace tern::pml {
namespace {

class GetSender final : public SenderHalf {
 public:
  GetSender(SendRequest& request, std::unique_ptr<btl::MemoryRegion> region) noexcept
      : request_(request), region_(std::move(region)) {}
  void announce(Announcement* out) const noexcept override {
    out->address = reinterpret_cast<uint64_t>(request_.buffer.first());
    out->key = region_->key();
  }
  void refused() noexcept override { region_.reset(); }
  HalfStep acknowledged() noexcept override {
    ++request_.peer->sent.got;
    return HalfStep::kDone;
  }

 private:
  SendRequest& request_;
  std::unique_ptr<btl::MemoryRegion> region_;
};

class GetReceiver final : public ReceiverHalf {
 public:
  explicit GetReceiver(RecvRequest& request) noexcept : request_(request) {}
  /// open() returns false if memory is short, or not registered.
  [[nodiscard]] bool open(std::span<const std::byte> key) noexcept {
    size_t bytes = request_.transfer.bytes;
    if (!request_.buffer.type->contiguous()) {
      each_ = std::min(kRdmaPiece, (bytes + kRdmaPieces - 1) / kRdmaPieces);
      bytes = each_ * kRdmaPieces;
      stage_.reset(new (std::nothrow) std::byte[bytes]);
      if (stage_ == nullptr) return false;
    }
    region_ = rdma().register_memory(stage_ ? stage_.get() : request_.buffer.first(), bytes);
    key_ = region_ == nullptr ? nullptr : rdma().import_key(key);
    return key_ != nullptr;
  }
  HalfStep begin() noexcept override { return HalfStep::kAgain; }
  bool has_operations() const noexcept override {
    return std::any_of(pieces_.begin(), pieces_.end(),
                       [](const Piece& piece) { return piece.operation.left != 0; });
  }
  HalfStep advance() noexcept override {
    HalfStep step = HalfStep::kAgain;
    for (Piece& piece : pieces_) {
      if (piece.operation.left != 0) continue;
      if (piece.range.length != 0) step = land(piece);
      if (ends_ == HalfStep::kDone && next_ < request_.transfer.bytes) start(piece);
    }
    if (has_operations()) return step;
    const bool complete = request_.transfer.moved == request_.transfer.bytes;
    return complete || ends_ != HalfStep::kDone ? ends_ : step;
  }

 private:
  struct Piece {
    btl::Operation operation;
    ByteRange range;
  };
  [[nodiscard]] btl::Rdma& rdma() const noexcept { return *request_.peer->endpoint->caps.rdma; }
  [[nodiscard]] std::byte* room_of(const Piece& piece, size_t offset) const noexcept {
    return stage_ == nullptr ? request_.buffer.first() + offset
                             : stage_.get() + (&piece - pieces_.data()) * each_;
  }
  void start(Piece& piece) noexcept {
    const ByteRange range{next_, std::min(each_, request_.transfer.bytes - next_)};
    const auto begun =
        rdma().start_get(*key_, request_.transfer.remote_address + range.offset,
                         {room_of(piece, range.offset), range.length}, piece.operation);
    if (begun == btl::Start::kRefused) ends_ = HalfStep::kOther;
    if (begun == btl::Start::kRefused || begun == btl::Start::kNoRoom) return;
    piece.range = range;
    next_ += range.length;
  }
  /// After the loss of the peer, the half waits for the end of the request.
  HalfStep land(Piece& piece) noexcept {
    const ByteRange range = std::exchange(piece.range, {});
    if (piece.operation.failed) {
      ends_ = HalfStep::kWait;
      return HalfStep::kAgain;
    }
    const Buffer& to = request_.buffer;
    if (stage_ != nullptr)
      to.type->unpack(to.address, to.count, range.offset, room_of(piece, range.offset),
                      range.length);
    request_.transfer.moved += range.length;
    return HalfStep::kMoved;
  }

  RecvRequest& request_;
  size_t each_ = kRdmaPiece;
  std::unique_ptr<std::byte[]> stage_;  // a piece of data with holes each
  std::unique_ptr<btl::MemoryRegion> region_;
  std::unique_ptr<btl::RemoteKey> key_;
  std::array<Piece, kRdmaPieces> pieces_;
  size_t next_ = 0;
  HalfStep ends_ = HalfStep::kDone;
};

}  // namespace

extern const Protocol kGet{
    .name = "get",
    .way = wire::Way::kNone,
    .always = false,
    .acknowledged = true,
    .viable_to_send =
        [](const ProtocolContext& context, const SendRequest& request) {
          return is_host_block(request.buffer) && rdma_pays(context, request);
        },
    .send = [](ProtocolContext&, SendRequest& request) -> std::unique_ptr<SenderHalf> {
      auto region = request.peer->endpoint->caps.rdma->register_memory(request.buffer.first(),
                                                                       request.transfer.bytes);
      if (region == nullptr || region->key().empty()) return nullptr;
      return std::make_unique<GetSender>(request, std::move(region));
    },
    .viable_to_receive =
        [](const ProtocolContext& context, const RecvRequest& request, const Announced& announced) {
          return !announced.named.key().empty() && announced.rts.address != 0 &&
                 !request.buffer.on_device() && rdma_pays(context, request);
        },
    .receive = [](ProtocolContext&, RecvRequest& request,
                  const Announced& announced) -> std::unique_ptr<ReceiverHalf> {
      auto half = std::make_unique<GetReceiver>(request);
      return half->open(announced.named.key()) ? std::move(half) : nullptr;
    }};

}  // namespace tern::pml
