// SPDX-License-Identifier: Apache-2.0
// Bounced: the pipeline, with device memory at this end staged through pinned memory (bounce.hpp).
#include <algorithm>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "core/peer.hpp"
#include "pml/bounce.hpp"
#include "pml/protocol.hpp"
#include "pml/protocols/awake.hpp"
#include "pml/protocols/chunks.hpp"
#include "pml/requests.hpp"

namespace tern::pml {
namespace {

class BounceSource {
 public:
  explicit BounceSource(BounceOut& out) noexcept : out_(out) {}
  [[nodiscard]] size_t ready(const ByteRange& range) noexcept {
    return std::min(range.length, out_.ready(&at_));
  }
  void fill(std::byte* room, const ByteRange& range) const noexcept {
    copy_bytes(room, at_, range.length);
  }
  void sent(size_t bytes) noexcept { out_.sent(bytes); }

 private:
  BounceOut& out_;
  const std::byte* at_ = nullptr;
};

class BouncedSender final : public SenderHalf {
 public:
  BouncedSender(ProtocolContext& context, SendRequest& request) noexcept
      : context_(context),
        request_(request),
        chunks_(request.transfer.bytes, FrameMover<BounceSource>::most(*request.peer->endpoint)) {}
  HalfStep begin(const wire::Go&) noexcept override {
    ++request_.peer->sent.piped;
    return HalfStep::kAgain;
  }
  HalfStep advance() noexcept override {
    if (out_ == nullptr && !open()) return HalfStep::kFailed;
    BounceSource source(*out_);
    FrameMover<BounceSource> mover(*request_.peer->endpoint, request_.transfer.partner, source);
    const HalfStep step = move_all(chunks_, mover);
    request_.transfer.moved = chunks_.at();
    if (chunks_.all_moved()) return HalfStep::kDone;
    if (TERN_LIKELY(!out_->failed())) return step;
    fail(MPI_ERR_OTHER, out_->failure());
    return HalfStep::kFailed;
  }

 private:
  [[nodiscard]] bool open() noexcept {
    try {
      out_ =
          std::make_unique<BounceOut>(context_.process, request_.buffer, request_.transfer.bytes);
      awake_.begin(context_);
    } catch (const Error& error) {
      fail(error.mpi_class(), error.what());
    } catch (const std::bad_alloc&) {
      fail(MPI_ERR_NO_MEM, "no memory");
    }
    return out_ != nullptr;
  }
  void fail(int error, const std::string& why) noexcept {
    failure = {error, strf("%zu bytes of device memory cannot be read: %s", request_.transfer.bytes,
                           why.c_str())};
  }

  ProtocolContext& context_;
  SendRequest& request_;
  Chunks chunks_;
  Awake awake_;
  std::unique_ptr<BounceOut> out_;
};

class BouncedReceiver final : public ReceiverHalf {
 public:
  BouncedReceiver(ProtocolContext& context, RecvRequest& request) noexcept
      : context_(context), request_(request) {}
  HalfStep begin() noexcept override {
    send_go(context_, request_, wire::Way::kPipeline);
    return HalfStep::kWait;
  }
  bool takes_data() const noexcept override { return true; }
  // take() drops data after a failure until the last byte.
  HalfStep take(const std::byte* data, size_t bytes) noexcept override {
    if (in_ == nullptr && failure.code == MPI_SUCCESS) open();
    if (in_ != nullptr) in_->put(data, bytes);
    auto& transfer = request_.transfer;
    transfer.moved += bytes;
    if (transfer.moved < transfer.bytes) return HalfStep::kWait;
    if (in_ == nullptr) return HalfStep::kFailed;
    awake_.begin(context_);
    return HalfStep::kAgain;
  }
  HalfStep advance() noexcept override {
    if (!in_->done()) return HalfStep::kAgain;
    if (TERN_LIKELY(!in_->failed())) return HalfStep::kDone;
    failure = {MPI_ERR_OTHER,
               strf("copying %zu bytes of device memory from rank %d failed: %s",
                    request_.transfer.bytes, request_.outcome.source, in_->failure().c_str())};
    return HalfStep::kFailed;
  }

 private:
  void open() noexcept {
    try {
      in_ = std::make_unique<BounceIn>(context_.process, request_.buffer, request_.transfer.bytes);
    } catch (const std::exception& error) {
      failure = {MPI_ERR_OTHER, strf("%zu bytes cannot be received in device memory: %s",
                                     request_.transfer.bytes, error.what())};
    }
  }

  ProtocolContext& context_;
  RecvRequest& request_;
  Awake awake_;
  std::unique_ptr<BounceIn> in_;
};

}  // namespace

extern const Protocol kBounced{
    .name = "bounced",
    .way = wire::Way::kPipeline,
    .always = true,
    .acknowledged = false,
    .viable_to_send = [](const ProtocolContext&,
                         const SendRequest& request) { return request.buffer.on_device(); },
    .send = [](ProtocolContext& context, SendRequest& request) -> std::unique_ptr<SenderHalf> {
      return std::make_unique<BouncedSender>(context, request);
    },
    .viable_to_receive = [](const ProtocolContext&, const RecvRequest& request,
                            const Announced&) { return request.buffer.on_device(); },
    .receive = [](ProtocolContext& context, RecvRequest& request,
                  const Announced&) -> std::unique_ptr<ReceiverHalf> {
      return std::make_unique<BouncedReceiver>(context, request);
    }};

}  // namespace tern::pml
