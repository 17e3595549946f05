// SPDX-License-Identifier: Apache-2.0
// Get: the receiver reads the data by RDMA, piece by piece.
//   sender: RTS with the address and the region's key; receiver: gets; Done.
// Why: a round trip less than puts, and the receiver may have holes in host memory. Both ends
// register memory first, so a get under way does not fail for lack of locked memory.
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
  explicit GetSender(SendRequest& request) noexcept : request_(request) {}
  [[nodiscard]] bool open(ProtocolContext& context) noexcept {
    btl::Rdma& rdma = *request_.peer->endpoint->caps.rdma;
    return block_.open(context, rdma, request_.buffer, request_.transfer.bytes) &&
           !block_.key().empty();
  }
  void announce(Announcement* out) const noexcept override {
    out->address = block_.address();
    out->key = block_.key();
  }
  void refused() noexcept override { block_.close(); }
  HalfStep acknowledged() noexcept override {
    ++request_.peer->sent.got;
    return HalfStep::kDone;
  }

 private:
  SendRequest& request_;
  RdmaBlock block_;
};

class GetReceiver final : public ReceiverHalf {
 public:
  explicit GetReceiver(RecvRequest& request) noexcept : request_(request) {}
  /// open() returns false if memory is short, or not registered.
  [[nodiscard]] bool open(ProtocolContext& context, std::span<const std::byte> key) noexcept {
    const size_t bytes = request_.transfer.bytes;
    const bool opened = request_.buffer.type->contiguous()
                            ? block_.open(context, rdma(), request_.buffer, bytes)
                            : open_stage(bytes);
    if (opened) key_ = rdma().import_key(key);
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
    if (ends_ != HalfStep::kDone) return ends_;
    if (request_.transfer.moved != request_.transfer.bytes) return step;
    failure = block_.end_writes();
    return failure ? HalfStep::kFailed : HalfStep::kDone;
  }

 private:
  struct Piece {
    btl::Operation operation;
    ByteRange range;
  };
  [[nodiscard]] btl::Rdma& rdma() const noexcept { return *request_.peer->endpoint->caps.rdma; }
  [[nodiscard]] bool open_stage(size_t bytes) noexcept {
    each_ = std::min(kRdmaPiece, (bytes + kRdmaPieces - 1) / kRdmaPieces);
    stage_.reset(new (std::nothrow) std::byte[each_ * kRdmaPieces]);
    return stage_ != nullptr && block_.open_host(rdma(), stage_.get(), each_ * kRdmaPieces);
  }
  [[nodiscard]] size_t place_of(const Piece& piece, size_t offset) const noexcept {
    return stage_ == nullptr ? offset : static_cast<size_t>(&piece - pieces_.data()) * each_;
  }
  void start(Piece& piece) noexcept {
    const ByteRange range{next_, std::min(each_, request_.transfer.bytes - next_)};
    const auto begun =
        rdma().start_get(*key_, request_.transfer.remote_address + range.offset,
                         block_.at(place_of(piece, range.offset), range.length), piece.operation);
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
      to.type->unpack(to.address, to.count, range.offset,
                      stage_.get() + place_of(piece, range.offset), range.length);
    request_.transfer.moved += range.length;
    return HalfStep::kMoved;
  }

  RecvRequest& request_;
  size_t each_ = kRdmaPiece;
  std::unique_ptr<std::byte[]> stage_;  // a piece of data with holes each
  RdmaBlock block_;
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
          return is_rdma_block(request.buffer) && rdma_pays(context, request);
        },
    .send = [](ProtocolContext& context, SendRequest& request) -> std::unique_ptr<SenderHalf> {
      auto half = std::make_unique<GetSender>(request);
      return half->open(context) ? std::move(half) : nullptr;
    },
    .viable_to_receive =
        [](const ProtocolContext& context, const RecvRequest& request, const Announced& announced) {
          return !announced.named.key().empty() && announced.rts.address != 0 &&
                 (!request.buffer.on_device() || is_rdma_block(request.buffer)) &&
                 rdma_pays(context, request);
        },
    .receive = [](ProtocolContext& context, RecvRequest& request,
                  const Announced& announced) -> std::unique_ptr<ReceiverHalf> {
      auto half = std::make_unique<GetReceiver>(request);
      return half->open(context, announced.named.key()) ? std::move(half) : nullptr;
    }};

}  // namespace tern::pml
