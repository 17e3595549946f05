// SPDX-License-Identifier: Apache-2.0
// Device pieces: device data with holes, or in unshareable memory, is packed in pieces into a
// shareable block. The receiver's device copies one piece while the next is packed, after polling
// an event.
//   receiver: Go; copies piece by piece; Done. If the sender's device fails, the sender sends a
//   Failed message instead of the data.
#include <algorithm>
#include <array>
#include <atomic>

#include "base/error.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "pml/protocol.hpp"
#include "pml/protocols/device_receiver.hpp"

namespace tern::pml {
namespace {

uint32_t next_stamp() noexcept {
  static std::atomic<uint32_t> last{0};
  const uint32_t stamp = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return stamp != 0 ? stamp : next_stamp();
}

/// A rank that refuses blocks is retried now and then.
bool worth_staging(PeerState& peer) noexcept {
  constexpr uint32_t kRefusals = 4, kBetweenTries = 64;
  return peer.stages_refused < kRefusals || peer.stages_refused++ % kBetweenTries == 0;
}

class DevicePiecesSender final : public SenderHalf {
 public:
  explicit DevicePiecesSender(SendRequest& request) noexcept : request_(request) {}
  void announce(Announcement* out) const noexcept override {
    out->handle = &handle_;
    out->pieces = &pieces_;
  }
  bool accepts(const wire::Go&) const noexcept override { return true; }
  HalfStep begin(const wire::Go&) noexcept override {
    request_.peer->count_stage(false);
    return HalfStep::kAgain;
  }
  void refused() noexcept override { request_.peer->count_stage(true); }

  [[nodiscard]] bool prepare(ProtocolContext& context) {
    job_ = core::begin_job(context.process, request_.buffer, &failure);
    if (failure) return true;
    if (!open_block(context)) {
      if (!job_.failed()) job_.abandon();  // no work, but maybe behind the user's stream
      return false;
    }
    pack_pieces(context);
    if (pieces_.count != 0) return true;
    if (job_.finish())
      job_ = {};
    else
      fail();
    return true;
  }
  // If the sender's device fails, the receiver must not wait.
  HalfStep advance() noexcept override {
    if (!job_.done()) return HalfStep::kAgain;
    if (TERN_LIKELY(!job_.failed())) return HalfStep::kWait;
    fail();
    return HalfStep::kFailed;
  }
  // The receiver has noticed the failure, or has all data.
  HalfStep acknowledged() noexcept override {
    if (TERN_LIKELY(job_.finish())) return HalfStep::kDone;
    failure = {MPI_ERR_OTHER,
               strf("the device that packed %zu bytes for rank %d has failed: %s",
                    request_.transfer.bytes, request_.to.rank, job_.failure().c_str())};
    return HalfStep::kFailed;
  }

 private:
  [[nodiscard]] bool open_block(ProtocolContext& context) {
    const size_t bytes = request_.transfer.bytes + wire::DevicePieces::kBegin;
    if (job_.failed() || !worth_staging(*request_.peer) ||
        !job_.device().blocks.affords(cuda::Store::kDevice, bytes,
                                      static_cast<size_t>(context.process.params.cuda_stage)) ||
        !job_.device().blocks.lends(cuda::Store::kDevice, bytes))
      return false;
    block_ = cuda::Block(job_, bytes);
    return block_.valid() && (context.devices.offer(job_.device(), cuda::look_up(block_.data()),
                                                    block_.data(), bytes, &handle_) ||
                              request_.peer->endpoint->caps.same_process);
  }
  // The sender packs everything first if a piece lacks an event.
  void pack_pieces(const ProtocolContext& context) {
    constexpr size_t kGrain = 65536;
    const size_t bytes = request_.transfer.bytes;
    const size_t least =
        std::max((bytes + wire::DevicePieces::kMost - 1) / wire::DevicePieces::kMost,
                 static_cast<size_t>(context.process.params.cuda_chunk));
    pieces_.bytes = (least + kGrain - 1) / kGrain * kGrain;
    pieces_.stamp = next_stamp();
    std::byte* const block = block_.data();
    bool all = true;
    for (size_t at = 0; at < bytes; at += pieces_.bytes, ++pieces_.count) {
      core::pack(job_, request_.buffer, at, block + wire::DevicePieces::kBegin + at,
                 std::min<size_t>(pieces_.bytes, bytes - at));
      job_.set(block + pieces_.count * sizeof pieces_.stamp, pieces_.stamp);
      cuda::SharedEvent& event = events_[pieces_.count] = cuda::SharedEvent(job_);
      all &= event.valid();
      pieces_.events[pieces_.count] = event.name();
    }
    if (!all || job_.failed()) pieces_.count = 0;
  }
  void fail() noexcept {
    failure = {MPI_ERR_OTHER, strf("%zu bytes of device memory cannot be read: %s",
                                   request_.transfer.bytes, job_.failure().c_str())};
  }

  SendRequest& request_;
  cuda::Block block_;  // stamps, then data
  std::array<cuda::SharedEvent, wire::DevicePieces::kMost> events_;
  wire::DevicePieces pieces_{};
  btl::MemoryHandle handle_{};
  cuda::Job job_;
};

class DevicePiecesReceiver final : public DeviceReceiver {
 public:
  using DeviceReceiver::DeviceReceiver;
  bool depends_on_sender() const noexcept override { return pieces_.count != 0; }
  [[nodiscard]] bool prepare(const Announced& announced) noexcept {
    const btl::MemoryHandle handle = announced.named.handle();
    pieces_ = *announced.named.pieces();
    if (!is_credible(handle) || !map(handle)) return false;
    // Processes sharing one device lose time at each switch.
    at_once_ = handle.device == job_.device().uuid;
    if (!open_events()) return false;
    return !copy_more() || begun_ != 0;
  }
  HalfStep begin() noexcept override {
    if (pieces_.count != 0) send_go(context_, request_, wire::Way::kPieces);
    keep_awake();
    return HalfStep::kAgain;
  }

 private:
  [[nodiscard]] bool is_credible(const btl::MemoryHandle& handle) const noexcept {
    const size_t bytes = request_.transfer.bytes;
    if (wire::DevicePieces::kBegin + bytes > handle.bytes) return false;
    return pieces_.count == 0 || (pieces_.count <= wire::DevicePieces::kMost && pieces_.bytes > 0 &&
                                  pieces_.bytes >= (bytes + pieces_.count - 1) / pieces_.count);
  }
  [[nodiscard]] bool open_events() noexcept {
    for (uint32_t i = 0; i < pieces_.count; ++i)
      opened_[i] = cuda::open_event(job_, pieces_.events[i]);
    if (TERN_LIKELY(!job_.failed())) return true;
    context_.process.gpus.tell_fallback(
        context_.process.explain,
        "packed device memory goes through the host: the peer's events cannot be opened: " +
            job_.failure());
    return false;
  }
  bool copy_more() noexcept override {
    const size_t bytes = request_.transfer.bytes;
    while (begun_ < bytes && !job_.failed()) {
      size_t end = bytes;
      if (pieces_.count != 0) {
        const size_t piece = (at_once_ ? bytes - 1 : begun_) / pieces_.bytes;
        if (!cuda::happened(job_, opened_[piece])) return job_.failed();
        end = std::min(bytes, (piece + 1) * pieces_.bytes);
      }
      take(begun_, mapped_->address + wire::DevicePieces::kBegin + begun_, end - begun_);
      begun_ = end;
    }
    return true;
  }
  // The stamps prove that the sender's device wrote all pieces.
  std::string verify() noexcept override {
    if (pieces_.count == 0) return {};
    std::array<uint32_t, wire::DevicePieces::kMost> stamps{};
    job_.copy(stamps.data(), mapped_->address, sizeof stamps);
    const size_t used = (request_.transfer.bytes - 1) / pieces_.bytes + 1;
    const bool all =
        job_.finish() && std::all_of(stamps.begin(), stamps.begin() + static_cast<ptrdiff_t>(used),
                                     [this](uint32_t stamp) { return stamp == pieces_.stamp; });
    return all ? std::string() : "the sender's device failed while packing";
  }

  wire::DevicePieces pieces_{};
  std::array<CUevent, wire::DevicePieces::kMost> opened_{};
  bool at_once_ = false;
  size_t begun_ = 0;
};

}  // namespace

extern const Protocol kDevicePieces{
    .name = "device pieces",
    .way = wire::Way::kPieces,
    .always = false,
    .acknowledged = true,
    .viable_to_send =
        [](const ProtocolContext&, const SendRequest& request) {
          return request.buffer.on_device() && request.peer->endpoint->caps.maps;
        },
    .send = [](ProtocolContext& context, SendRequest& request) -> std::unique_ptr<SenderHalf> {
      auto half = std::make_unique<DevicePiecesSender>(request);
      return half->prepare(context) ? std::move(half) : nullptr;
    },
    .viable_to_receive =
        [](const ProtocolContext&, const RecvRequest&, const Announced& announced) {
          return announced.named.there() && announced.named.pieces().has_value();
        },
    .receive = [](ProtocolContext& context, RecvRequest& request,
                  const Announced& announced) -> std::unique_ptr<ReceiverHalf> {
      auto half = std::make_unique<DevicePiecesReceiver>(context, request);
      return half->prepare(announced) ? std::move(half) : nullptr;
    }};

}  // namespace tern::pml
