// SPDX-License-Identifier: Apache-2.0
// Put: the sender writes the data by RDMA, piece by piece.
//   receiver: Go with the address and the region's key; sender: puts, flush, Landed.
// Why: RDMA takes no time of the receiver. Without RDMA (TCP), fragments are as fast.
#include <algorithm>

#include "base/log.hpp"
#include "core/peer.hpp"
#include "pml/limits.hpp"
#include "pml/outbox.hpp"
#include "pml/protocol.hpp"
#include "pml/protocols/chunks.hpp"
#include "pml/requests.hpp"

namespace tern::pml {
namespace {

constexpr size_t kPiece = 1 << 20;
constexpr uint32_t kPieces = 4;  // puts in flight per message, to leave some to others

bool pays(const ProtocolContext& context, const RecvRequest& request) noexcept {
  const btl::Rdma* const rdma = request.peer->endpoint->caps.rdma;
  return rdma != nullptr && request.transfer.bytes >= context.limits.least_put(rdma->offloaded);
}

bool is_one_block(const Buffer& buffer) noexcept {
  return !buffer.on_device() && buffer.type->contiguous();
}

class PutMover {
 public:
  PutMover(SendRequest& request, const btl::RemoteKey& to, uint64_t address) noexcept
      : request_(request), to_(to), address_(address) {}
  [[nodiscard]] size_t move(const ByteRange& range) noexcept {
    if (request_.operation.left >= kPieces) return 0;
    const auto begun = request_.peer->endpoint->caps.rdma->start_put(
        to_, address_ + range.offset, {request_.buffer.first() + range.offset, range.length},
        request_.operation);
    return begun == btl::Start::kNoRoom ? 0 : range.length;
  }
  [[nodiscard]] int error() const noexcept { return 0; }

 private:
  SendRequest& request_;
  const btl::RemoteKey& to_;
  uint64_t address_;
};

class PutSender final : public SenderHalf {
 public:
  PutSender(ProtocolContext& context, SendRequest& request) noexcept
      : context_(context), request_(request), chunks_(request.transfer.bytes, kPiece) {}
  void learn_key(std::span<const std::byte> key) noexcept override {
    to_ = request_.peer->endpoint->caps.rdma->import_key(key);
  }
  HalfStep begin(const wire::Go& go) noexcept override {
    if (to_ == nullptr) {
      failure = {MPI_ERR_OTHER, "cannot write the receiver's memory: unknown key"};
      return HalfStep::kFailed;
    }
    address_ = go.address;
    ++request_.peer->sent.put;
    return HalfStep::kAgain;
  }
  HalfStep advance() noexcept override {
    if (!chunks_.all_moved()) {
      PutMover mover(request_, *to_, address_);
      const HalfStep step = move_all(chunks_, mover);
      request_.transfer.moved = chunks_.at();
      return step;
    }
    if (request_.operation.left != 0) return HalfStep::kAgain;
    if (!flushed_) {
      const auto begun = request_.peer->endpoint->caps.rdma->start_flush(request_.operation);
      flushed_ = begun != btl::Start::kNoRoom;
      if (begun != btl::Start::kDone) return HalfStep::kAgain;
    }
    context_.outbox.send_control(*request_.peer, wire::kLanded,
                                 wire::Landed{request_.transfer.partner});
    return HalfStep::kDone;
  }

 private:
  ProtocolContext& context_;
  SendRequest& request_;
  Chunks chunks_;
  std::unique_ptr<btl::RemoteKey> to_;
  uint64_t address_ = 0;
  bool flushed_ = false;
};

class PutReceiver final : public ReceiverHalf {
 public:
  PutReceiver(ProtocolContext& context, RecvRequest& request,
              std::unique_ptr<btl::MemoryRegion> region) noexcept
      : context_(context), request_(request), region_(std::move(region)) {}
  HalfStep begin() noexcept override {
    send_go(context_, request_, wire::Way::kPut,
            reinterpret_cast<uint64_t>(request_.buffer.first()), region_->key());
    return HalfStep::kWait;
  }
  bool awaits_landing() const noexcept override { return true; }
  HalfStep landed() noexcept override {
    request_.transfer.moved = request_.transfer.bytes;
    return HalfStep::kDone;
  }

 private:
  ProtocolContext& context_;
  RecvRequest& request_;
  std::unique_ptr<btl::MemoryRegion> region_;
};

}  // namespace

extern const Protocol kPut{
    .name = "put",
    .way = wire::Way::kPut,
    .always = true,
    .acknowledged = false,
    .viable_to_send =
        [](const ProtocolContext&, const SendRequest& request) {
          return request.peer->endpoint->caps.rdma != nullptr && is_one_block(request.buffer);
        },
    .send = [](ProtocolContext& context, SendRequest& request) -> std::unique_ptr<SenderHalf> {
      return std::make_unique<PutSender>(context, request);
    },
    // A nonzero address means one block of host memory.
    .viable_to_receive =
        [](const ProtocolContext& context, const RecvRequest& request, const Announced& announced) {
          return pays(context, request) && announced.rts.address != 0 &&
                 announced.rts.staged == 0 && !announced.named.there() &&
                 is_one_block(request.buffer);
        },
    .receive = [](ProtocolContext& context, RecvRequest& request,
                  const Announced&) -> std::unique_ptr<ReceiverHalf> {
      auto region = request.peer->endpoint->caps.rdma->register_memory(request.buffer.first(),
                                                                       request.transfer.bytes);
      if (region == nullptr) return nullptr;
      return std::make_unique<PutReceiver>(context, request, std::move(region));
    }};

}  // namespace tern::pml
