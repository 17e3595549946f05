// SPDX-License-Identifier: Apache-2.0
// Device mapped: the receiver's device maps the memory and copies once. For one shareable block.
//   receiver: copies; Done.
#include "base/error.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "pml/bounce.hpp"
#include "pml/protocol.hpp"
#include "pml/protocols/device_receiver.hpp"

namespace tern::pml {
namespace {

class DeviceMappedSender final : public SenderHalf {
 public:
  void announce(Announcement* out) const noexcept override { out->handle = &handle_; }
  [[nodiscard]] bool prepare(ProtocolContext& context, SendRequest& request) noexcept {
    cuda::Memory memory;
    cuda::Job job = core::begin_job(context.process, request.buffer, &failure, &memory);
    const size_t bytes = request.transfer.bytes;
    if (failure) return true;
    // The receiver may read only after the user's writes. If those writes take long, device pieces
    // are queued behind them.
    if (!ends_soon(job)) {
      job.abandon();
      return false;
    }
    if (!context.devices.offer(job.device(), memory, request.buffer.first(), bytes, &handle_) &&
        !request.peer->endpoint->caps.same_process)
      return false;
    if (job.failed())
      failure = {MPI_ERR_OTHER, strf("%zu bytes of device memory cannot be read: %s", bytes,
                                     job.failure().c_str())};
    return true;
  }

 private:
  btl::MemoryHandle handle_{};
};

class DeviceMappedReceiver final : public DeviceReceiver {
 public:
  using DeviceReceiver::DeviceReceiver;
  [[nodiscard]] bool prepare(const Announced& announced) noexcept {
    return map(announced.named.handle());
  }
  HalfStep begin() noexcept override {
    if (!is_pageable() || !open_chunks()) {
      const cuda::Current current(job_.device());
      take(0, mapped_->address, request_.transfer.bytes);
      job_.tell_end();
    }
    keep_awake();
    return HalfStep::kAgain;
  }

 private:
  // The driver would stage a copy to pageable memory, and block this thread.
  [[nodiscard]] bool is_pageable() const noexcept {
    return !request_.buffer.on_device() && cuda::look_up(request_.buffer.first()).bytes == 0;
  }
  [[nodiscard]] bool open_chunks() noexcept {
    try {
      const auto bytes = static_cast<MPI_Count>(request_.transfer.bytes);
      const core::Data there{mapped_->address, bytes,
                             &core::predefined_type(context_.process, MPI_BYTE),
                             cuda::MemoryKind::kDevice};
      chunks_ = std::make_unique<BounceOut>(context_.process, there, request_.transfer.bytes,
                                            &job_.device());
    } catch (const std::exception&) {
    }
    return chunks_ != nullptr;
  }
  bool copy_more() noexcept override {
    const size_t bytes = request_.transfer.bytes;
    while (chunks_ != nullptr && taken_ < bytes && !chunks_->failed()) {
      const std::byte* at = nullptr;
      const size_t some = chunks_->ready(&at);
      if (some == 0 && !chunks_->failed()) return false;
      const auto& to = request_.buffer;
      to.type->unpack(to.address, to.count, taken_, at, some);
      taken_ += some;
      if (some > 0) chunks_->sent(some);
    }
    return true;
  }
  std::string verify() noexcept override {
    if (chunks_ == nullptr || !chunks_->failed()) return {};
    std::string why = chunks_->failure();
    chunks_.reset();  // ends all reads of the sender's memory
    return why;
  }

  std::unique_ptr<BounceOut> chunks_;
  size_t taken_ = 0;
};

}  // namespace

extern const Protocol kDeviceMapped{
    .name = "device mapped",
    .way = wire::Way::kNone,
    .always = false,
    .acknowledged = true,
    .viable_to_send =
        [](const ProtocolContext&, const SendRequest& request) {
          return request.buffer.on_device() && request.buffer.type->contiguous() &&
                 request.peer->endpoint->caps.maps;
        },
    .send = [](ProtocolContext& context, SendRequest& request) -> std::unique_ptr<SenderHalf> {
      auto half = std::make_unique<DeviceMappedSender>();
      return half->prepare(context, request) ? std::move(half) : nullptr;
    },
    .viable_to_receive =
        [](const ProtocolContext&, const RecvRequest&, const Announced& announced) {
          return announced.named.there() && !announced.named.pieces().has_value();
        },
    .receive = [](ProtocolContext& context, RecvRequest& request,
                  const Announced& announced) -> std::unique_ptr<ReceiverHalf> {
      auto half = std::make_unique<DeviceMappedReceiver>(context, request);
      return half->prepare(announced) ? std::move(half) : nullptr;
    }};

}  // namespace tern::pml
