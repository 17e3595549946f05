// SPDX-License-Identifier: Apache-2.0
// Pipeline: the data crosses the transport's memory in fragments, which stay in cache while both
// cores copy.
//   receiver: Go; sender: Data, Data, ...; sender and receiver are done with the last byte.
#include <algorithm>

#include "base/copy.hpp"
#include "core/peer.hpp"
#include "pml/protocol.hpp"
#include "pml/protocols/chunks.hpp"
#include "pml/requests.hpp"

namespace tern::pml {
namespace {

bool ends_within_lines(const core::Layout& node) noexcept {
  constexpr int64_t kWord = 8, kLine = 64;
  switch (node.form) {
    case core::Layout::LayoutForm::kBlock:
      return node.size > kWord && node.size % kLine != 0;
    case core::Layout::LayoutForm::kStrided:
    case core::Layout::LayoutForm::kList:
      return ends_within_lines(*node.child);
    case core::Layout::LayoutForm::kBlocks:
    case core::Layout::LayoutForm::kSequence:
      return true;
  }
  return true;
}

/// pack_lines() writes each cache line once, because another core owns the line.
void pack_lines(const Buffer& from, const ByteRange& range, std::byte* to) noexcept {
  if (!ends_within_lines(*from.type->layout().node))
    return from.type->pack(from.address, from.count, range.offset, to, range.length);
  constexpr size_t kPart = 4096;
  alignas(64) std::byte part[kPart];
  for (size_t at = 0; at < range.length; at += kPart) {
    const size_t bytes = std::min(kPart, range.length - at);
    from.type->pack(from.address, from.count, range.offset + at, part, bytes);
    copy_bytes(to + at, part, bytes);
  }
}

struct HostSource {
  const Buffer& buffer;
  [[nodiscard]] size_t ready(const ByteRange& range) const noexcept { return range.length; }
  void fill(std::byte* room, const ByteRange& range) const noexcept {
    if (buffer.type->contiguous())
      copy_bytes(room, buffer.first() + range.offset, range.length);
    else
      pack_lines(buffer, range, room);
  }
  void sent(size_t /*bytes*/) const noexcept {}
};

class DirectMover {
 public:
  static constexpr uint32_t kParts = 4;  // fragments in flight per message, to leave some to others
  explicit DirectMover(SendRequest& request) noexcept : request_(request) {}
  [[nodiscard]] size_t move(const ByteRange& range) noexcept {
    if (request_.operation.left >= kParts) return 0;
    wire::DataPrefix prefix{request_.transfer.partner, range.offset};
    const auto begun = request_.peer->endpoint->caps.zero_copy->start_send(
        {0, wire::kData, 0, 0, 0, 0}, {&prefix, sizeof prefix},
        {request_.buffer.first() + range.offset, range.length}, request_.operation);
    refused_ = begun == btl::Start::kRefused;
    return begun == btl::Start::kNoRoom || refused_ ? 0 : range.length;
  }
  [[nodiscard]] int error() const noexcept { return 0; }
  [[nodiscard]] bool refused() const noexcept { return refused_; }

 private:
  SendRequest& request_;
  bool refused_ = false;
};

bool can_go_direct(const SendRequest& request) noexcept {
  return request.peer->endpoint->caps.zero_copy != nullptr && request.buffer.type->contiguous();
}

class PipelineSender final : public SenderHalf {
 public:
  explicit PipelineSender(SendRequest& request) noexcept
      : request_(request),
        source_{request.buffer},
        direct_(can_go_direct(request)),
        chunks_(request.transfer.bytes,
                direct_ ? request.peer->endpoint->caps.zero_copy->max_bytes
                        : FrameMover<HostSource>::most(*request.peer->endpoint)) {}
  HalfStep begin(const wire::Go&) noexcept override {
    ++request_.peer->sent.piped;
    return HalfStep::kAgain;
  }
  HalfStep advance() noexcept override {
    const HalfStep step = direct_ ? move_direct() : move_in_frames();
    request_.transfer.moved = chunks_.at();
    return chunks_.all_moved() ? HalfStep::kDone : step;
  }

 private:
  HalfStep move_in_frames() noexcept {
    FrameMover<HostSource> mover(*request_.peer->endpoint, request_.transfer.partner, source_);
    return move_all(chunks_, mover);
  }
  HalfStep move_direct() noexcept {
    DirectMover mover(request_);
    const HalfStep step = move_all(chunks_, mover);
    if (TERN_UNLIKELY(mover.refused())) {
      direct_ = false;
      chunks_.resume(FrameMover<HostSource>::most(*request_.peer->endpoint));
    }
    return step;
  }

  SendRequest& request_;
  HostSource source_;
  bool direct_;
  Chunks chunks_;
};

class PipelineReceiver final : public ReceiverHalf {
 public:
  PipelineReceiver(ProtocolContext& context, RecvRequest& request) noexcept
      : context_(context), request_(request) {}
  HalfStep begin() noexcept override {
    send_go(context_, request_, wire::Way::kPipeline);
    return HalfStep::kWait;
  }
  bool takes_data() const noexcept override { return true; }
  HalfStep take(const std::byte* data, size_t bytes) noexcept override {
    const Buffer& to = request_.buffer;
    auto& transfer = request_.transfer;
    if (to.type->contiguous())
      copy_bytes(to.first() + transfer.moved, data, bytes);
    else
      to.type->unpack(to.address, to.count, transfer.moved, data, bytes);
    transfer.moved += bytes;
    return transfer.moved == transfer.bytes ? HalfStep::kDone : HalfStep::kWait;
  }

 private:
  ProtocolContext& context_;
  RecvRequest& request_;
};

}  // namespace

extern const Protocol kPipeline{
    .name = "pipeline",
    .way = wire::Way::kPipeline,
    .always = true,
    .acknowledged = false,
    .viable_to_send = [](const ProtocolContext&, const SendRequest&) { return true; },
    .send = [](ProtocolContext&, SendRequest& request) -> std::unique_ptr<SenderHalf> {
      return std::make_unique<PipelineSender>(request);
    },
    .viable_to_receive = [](const ProtocolContext&, const RecvRequest&,
                            const Announced&) { return true; },
    .receive = [](ProtocolContext& context, RecvRequest& request,
                  const Announced&) -> std::unique_ptr<ReceiverHalf> {
      return std::make_unique<PipelineReceiver>(context, request);
    }};

}  // namespace tern::pml
