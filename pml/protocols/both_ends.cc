// SPDX-License-Identifier: Apache-2.0
// Both ends: the receiver copies chunks from the front, the sender from the back.
//   receiver: Go with the destination; sender and receiver copy; receiver: Done. Data with holes is
//   staged: the receiver copies chunks while the sender packs others.
#include <algorithm>

#include "core/peer.hpp"
#include "pml/limits.hpp"
#include "pml/protocol.hpp"
#include "pml/protocols/chunks.hpp"
#include "pml/protocols/copies.hpp"

namespace tern::pml {
namespace {

/// A chunk takes one system call. In a message of two calls, sender and receiver make one each, if
/// each has a core.
size_t chunk_of(const ProtocolContext& context, size_t bytes) noexcept {
  constexpr size_t kLeast = 16384, kMost = 131072, kMostOnSharedCores = 262144;
  if (context.process.node.oversubscribed) return std::clamp(bytes, kLeast, kMostOnSharedCores);
  return std::clamp((bytes / 2 + kLeast - 1) / kLeast * kLeast, kLeast, kMost);
}

class BothEndsSender final : public SenderHalf {
 public:
  BothEndsSender(const ProtocolContext& context, SendRequest& request, PackStage stage) noexcept
      : request_(request),
        stage_(std::move(stage)),
        chunk_(chunk_of(context, request.transfer.bytes)),
        packing_(request.transfer.bytes, chunk_) {}
  ~BothEndsSender() override {
    if (name_ != 0) request_.peer->endpoint->caps.claims->close(name_);
  }
  BothEndsSender(const BothEndsSender&) = delete;
  BothEndsSender& operator=(const BothEndsSender&) = delete;

  [[nodiscard]] bool open() noexcept {
    claims_ = request_.peer->endpoint->caps.claims->open(&name_);
    if (claims_ == nullptr) return false;
    claims_->chunk = static_cast<uint32_t>(chunk_);
    if (stage_.in_use()) claims_->ready.store(0, std::memory_order_relaxed);
    return true;
  }
  void announce(Announcement* out) const noexcept override {
    out->address = reinterpret_cast<uint64_t>(stage_.block(request_.buffer));
    out->claims = name_;
    out->staged = stage_.in_use() ? 1 : 0;
  }
  bool accepts(const wire::Go& go) const noexcept override {
    return go.bytes == request_.transfer.bytes;
  }
  bool may_be_replaced() const noexcept override { return true; }
  HalfStep begin(const wire::Go& go) noexcept override {
    ++request_.peer->sent.shared;
    there_ = go.address;
    return has_work() ? HalfStep::kAgain : HalfStep::kWait;
  }
  HalfStep advance() noexcept override { return is_packed() ? put_chunk() : pack_chunk(); }

 private:
  [[nodiscard]] bool is_packed() const noexcept { return !stage_.in_use() || packing_.all_moved(); }
  [[nodiscard]] bool has_work() const noexcept {
    return !is_packed() || can_copy(*request_.peer->endpoint);
  }
  HalfStep pack_chunk() noexcept {
    ByteRange range;
    if (!packing_.next(&range)) return HalfStep::kAgain;
    stage_.pack(request_.buffer, range.offset, range.length);
    packing_.moved(range.length, 0);
    request_.transfer.moved = packing_.at();
    claims_->ready.store(++packed_, std::memory_order_release);
    request_.peer->endpoint->caps.claims->wake_peer();
    return has_work() ? HalfStep::kMoved : HalfStep::kWait;
  }
  HalfStep put_chunk() noexcept {
    Chunks chunks(request_.transfer.bytes, chunk_, *claims_, Chunks::From::kBack);
    CopyMover mover(*request_.peer->endpoint->caps.peer_copy, stage_.block(request_.buffer), there_,
                    CopyMover::Direction::kPut);
    if (move_next(chunks, mover) != HalfStep::kMoved) return HalfStep::kWait;
    request_.peer->endpoint->caps.claims->wake_peer();
    return HalfStep::kMoved;
  }

  SendRequest& request_;
  PackStage stage_;
  size_t chunk_;
  Chunks packing_;
  uint32_t packed_ = 0;
  uint32_t name_ = 0;
  btl::SharedClaims* claims_ = nullptr;
  uint64_t there_ = 0;
};

class BothEndsReceiver final : public ReceiverHalf {
 public:
  BothEndsReceiver(ProtocolContext& context, RecvRequest& request, PackStage stage,
                   btl::SharedClaims& claims) noexcept
      : context_(context),
        request_(request),
        stage_(std::move(stage)),
        chunks_(request.transfer.bytes, claims.chunk, claims, Chunks::From::kFront),
        mover_(*request.peer->endpoint->caps.peer_copy, stage_.block(request.buffer),
               request.transfer.remote_address, CopyMover::Direction::kGet) {}
  HalfStep begin() noexcept override {
    send_go(context_, request_, wire::Way::kBothEnds,
            reinterpret_cast<uint64_t>(stage_.block(request_.buffer)));
    return HalfStep::kAgain;
  }
  HalfStep advance() noexcept override {
    const HalfStep step = move_next(chunks_, mover_);
    if (step == HalfStep::kMoved) unpack(chunks_.at());
    if (!chunks_.all_moved()) return step;
    if (const int error = chunks_.error(); error != 0)
      return copy_failed(context_, request_, error, &failure);
    unpack(request_.transfer.bytes);
    return HalfStep::kDone;
  }

 private:
  void unpack(size_t end) noexcept {
    stage_.unpack(request_.buffer, end);
    request_.transfer.moved = stage_.unpacked();
  }

  ProtocolContext& context_;
  RecvRequest& request_;
  PackStage stage_;
  Chunks chunks_;
  CopyMover mover_;
};

}  // namespace

extern const Protocol kBothEnds{
    .name = "both ends",
    .way = wire::Way::kBothEnds,
    .always = false,
    .acknowledged = true,
    .viable_to_send =
        [](const ProtocolContext& context, const SendRequest& request) {
          return request.peer->endpoint->caps.claims != nullptr && !request.buffer.on_device() &&
                 request.transfer.bytes >= context.limits.both_ends;
        },
    .send = [](ProtocolContext& context, SendRequest& request) -> std::unique_ptr<SenderHalf> {
      PackStage stage;
      if (!stage.open(context, request.buffer, request.transfer.bytes)) return nullptr;
      auto half = std::make_unique<BothEndsSender>(context, request, std::move(stage));
      return half->open() ? std::move(half) : nullptr;
    },
    .viable_to_receive =
        [](const ProtocolContext& context, const RecvRequest& request, const Announced& announced) {
          return announced.rts.claims != 0 && request.peer->endpoint->caps.claims != nullptr &&
                 announced.rts.bytes == request.transfer.bytes &&
                 may_copy(context, request, announced);
        },
    .receive = [](ProtocolContext& context, RecvRequest& request,
                  const Announced& announced) -> std::unique_ptr<ReceiverHalf> {
      PackStage stage;
      btl::SharedClaims* claims = request.peer->endpoint->caps.claims->find(announced.rts.claims);
      if (claims == nullptr || !stage.open(context, request.buffer, request.transfer.bytes))
        return nullptr;
      return std::make_unique<BothEndsReceiver>(context, request, std::move(stage), *claims);
    }};

}  // namespace tern::pml
