// SPDX-License-Identifier: Apache-2.0
// Put: the sender writes the data by RDMA, piece by piece.
//   receiver: Go with the address and the region's key; sender: puts, flush, Landed. Landed also
//   reports a refusal of the sender's memory.
// Why: RDMA after an RTS without a key. Without RDMA (TCP), fragments are as fast.
#include "pml/outbox.hpp"
#include "pml/protocols/chunks.hpp"
#include "pml/protocols/rdma.hpp"

namespace tern::pml {
namespace {

class PutMover {
 public:
  PutMover(SendRequest& request, const RdmaBlock& from, const btl::RemoteKey& to,
           uint64_t address) noexcept
      : request_(request), from_(from), to_(to), address_(address) {}
  [[nodiscard]] size_t move(const ByteRange& range) noexcept {
    if (request_.operation.left >= kRdmaPieces) return 0;
    const auto begun = request_.peer->endpoint->caps.rdma->start_put(
        to_, address_ + range.offset, from_.at(range.offset, range.length), request_.operation);
    refused_ = begun == btl::Start::kRefused;
    return begun == btl::Start::kNoRoom || refused_ ? 0 : range.length;
  }
  [[nodiscard]] int error() const noexcept { return 0; }
  [[nodiscard]] bool refused() const noexcept { return refused_; }

 private:
  SendRequest& request_;
  const RdmaBlock& from_;
  const btl::RemoteKey& to_;
  uint64_t address_;
  bool refused_ = false;
};

class PutSender final : public SenderHalf {
 public:
  PutSender(ProtocolContext& context, SendRequest& request) noexcept
      : context_(context), request_(request), chunks_(request.transfer.bytes, kRdmaPiece) {}
  void learn_key(std::span<const std::byte> key) noexcept override {
    btl::Rdma& rdma = *request_.peer->endpoint->caps.rdma;
    if (block_.open(context_, rdma, request_.buffer, request_.transfer.bytes))
      to_ = rdma.import_key(key);
  }
  HalfStep begin(const wire::Go& go) noexcept override {
    address_ = go.address;
    declined_ = to_ == nullptr;
    return HalfStep::kAgain;
  }
  void refused() noexcept override { block_.close(); }
  HalfStep advance() noexcept override {
    if (!declined_ && !chunks_.all_moved()) {
      PutMover mover(request_, block_, *to_, address_);
      const HalfStep step = move_all(chunks_, mover);
      request_.transfer.moved = chunks_.at();
      declined_ = mover.refused();
      return step;
    }
    if (request_.operation.left != 0) return HalfStep::kAgain;
    if (!flushed_) {
      const auto begun = request_.peer->endpoint->caps.rdma->start_flush(request_.operation);
      flushed_ = begun != btl::Start::kNoRoom;
      if (begun != btl::Start::kDone) return HalfStep::kAgain;
    }
    context_.outbox.send_control(*request_.peer, wire::kLanded,
                                 wire::Landed{request_.transfer.partner, declined_ ? 1u : 0u});
    if (declined_) return await_other();
    ++request_.peer->sent.put;
    return HalfStep::kDone;
  }

 private:
  HalfStep await_other() noexcept {
    request_.awaits = SendRequest::Awaits::kGoOrDone;
    return HalfStep::kWait;
  }

  ProtocolContext& context_;
  SendRequest& request_;
  Chunks chunks_;
  RdmaBlock block_;
  std::unique_ptr<btl::RemoteKey> to_;
  uint64_t address_ = 0;
  bool declined_ = false;
  bool flushed_ = false;
};

class PutReceiver final : public ReceiverHalf {
 public:
  PutReceiver(ProtocolContext& context, RecvRequest& request) noexcept
      : context_(context), request_(request) {}
  [[nodiscard]] bool open() noexcept {
    btl::Rdma& rdma = *request_.peer->endpoint->caps.rdma;
    return block_.open(context_, rdma, request_.buffer, request_.transfer.bytes) &&
           !block_.key().empty();
  }
  HalfStep begin() noexcept override {
    send_go(context_, request_, wire::Way::kPut, block_.address(), block_.key());
    return HalfStep::kWait;
  }
  bool awaits_landing() const noexcept override { return true; }
  HalfStep landed() noexcept override {
    request_.transfer.moved = request_.transfer.bytes;
    failure = block_.end_writes();
    return failure ? HalfStep::kFailed : HalfStep::kDone;
  }

 private:
  ProtocolContext& context_;
  RecvRequest& request_;
  RdmaBlock block_;
};

}  // namespace

extern const Protocol kPut{
    .name = "put",
    .way = wire::Way::kPut,
    .always = true,
    .acknowledged = false,
    .viable_to_send =
        [](const ProtocolContext&, const SendRequest& request) {
          return request.peer->endpoint->caps.rdma != nullptr && is_rdma_block(request.buffer);
        },
    .send = [](ProtocolContext& context, SendRequest& request) -> std::unique_ptr<SenderHalf> {
      return std::make_unique<PutSender>(context, request);
    },
    // An address without a key means one block of host memory.
    .viable_to_receive =
        [](const ProtocolContext& context, const RecvRequest& request, const Announced& announced) {
          return rdma_pays(context, request) && announced.rts.address != 0 &&
                 announced.rts.staged == 0 && !announced.named.there() &&
                 announced.named.key().empty() && is_rdma_block(request.buffer);
        },
    .receive = [](ProtocolContext& context, RecvRequest& request,
                  const Announced&) -> std::unique_ptr<ReceiverHalf> {
      auto half = std::make_unique<PutReceiver>(context, request);
      return half->open() ? std::move(half) : nullptr;
    }};

}  // namespace tern::pml
