// SPDX-License-Identifier: Apache-2.0
// Pull: the receiver copies from the sender's memory.
//   receiver: copies; Done.
#include "core/peer.hpp"
#include "pml/protocol.hpp"
#include "pml/protocols/chunks.hpp"
#include "pml/protocols/copies.hpp"

namespace tern::pml {
namespace {

class PullSender final : public SenderHalf {
 public:
  explicit PullSender(const SendRequest& request) noexcept : request_(request) {}
  void announce(Announcement* out) const noexcept override {
    out->address = reinterpret_cast<uint64_t>(request_.buffer.first());
  }

 private:
  const SendRequest& request_;
};

class PullReceiver final : public ReceiverHalf {
 public:
  static constexpr size_t kAtOnce = 512 << 10;  // bytes per round of progress
  PullReceiver(ProtocolContext& context, RecvRequest& request, PackStage stage) noexcept
      : context_(context),
        request_(request),
        stage_(std::move(stage)),
        chunks_(request.transfer.bytes, kAtOnce),
        mover_(*request.peer->endpoint->caps.peer_copy, stage_.block(request.buffer),
               request.transfer.remote_address, CopyMover::Direction::kGet) {}
  HalfStep begin() noexcept override { return HalfStep::kAgain; }
  HalfStep advance() noexcept override {
    const HalfStep step = move_next(chunks_, mover_);
    if (const int error = chunks_.error(); error != 0)
      return copy_failed(context_, request_, error, &failure);
    stage_.unpack(request_.buffer, chunks_.at());
    request_.transfer.moved = chunks_.at();
    return chunks_.all_moved() ? HalfStep::kDone : step;
  }

 private:
  ProtocolContext& context_;
  RecvRequest& request_;
  PackStage stage_;
  Chunks chunks_;
  CopyMover mover_;
};

}  // namespace

extern const Protocol kPull{
    .name = "pull",
    .way = wire::Way::kNone,
    .always = false,
    .acknowledged = true,
    .viable_to_send =
        [](const ProtocolContext&, const SendRequest& request) {
          return !request.buffer.on_device() && request.buffer.type->contiguous();
        },
    .send = [](ProtocolContext&, SendRequest& request) -> std::unique_ptr<SenderHalf> {
      return std::make_unique<PullSender>(request);
    },
    .viable_to_receive =
        [](const ProtocolContext& context, const RecvRequest& request, const Announced& announced) {
          return announced.rts.staged == 0 && may_copy(context, request, announced);
        },
    .receive = [](ProtocolContext& context, RecvRequest& request,
                  const Announced&) -> std::unique_ptr<ReceiverHalf> {
      PackStage stage;
      if (!stage.open(context, request.buffer, request.transfer.bytes)) return nullptr;
      return std::make_unique<PullReceiver>(context, request, std::move(stage));
    }};

}  // namespace tern::pml
