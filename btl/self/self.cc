// SPDX-License-Identifier: Apache-2.0
// Self: the endpoint to the own rank.
#include "btl/self/self.hpp"

#include <vector>

#include "btl/copy.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "core/progress.hpp"

namespace tern::btl::self {
namespace {

class alignas(64) SelfEndpoint final : public Endpoint {
 public:
  SelfEndpoint(const Destination& leads_to, Sink& sink, core::Progress* threads)
      : Endpoint(leads_to, {.same_process = true, .peer_copy = &copy_}),
        sink_(sink),
        threads_(threads) {}

  bool send(const Header& header, const void* payload) noexcept override {
    sink_.arrived(*this, Frame{header, static_cast<const std::byte*>(payload), header.bytes});
    wake_threads();
    return true;
  }
  std::byte* begin(size_t /*bytes*/) noexcept override {
    // Delivering a frame may send others, so each nesting level has a buffer.
    if (depth_ == buffers_.size()) buffers_.push_back(std::make_unique<std::byte[]>(kMostPayload));
    return buffers_[depth_++].get();
  }
  void commit(const Header& header) noexcept override {
    sink_.arrived(*this, Frame{header, buffers_[depth_ - 1].get(), header.bytes});
    --depth_;
    wake_threads();
  }
  size_t max_payload() const noexcept override { return kMostPayload; }
  const char* transport() const noexcept override { return "self"; }
  const char* reason() const noexcept override { return "copies: the same process"; }

 private:
  void wake_threads() const noexcept {
    if (TERN_UNLIKELY(threads_ != nullptr)) threads_->wake();
  }

  Sink& sink_;
  core::Progress* const threads_;
  std::vector<std::unique_ptr<std::byte[]>> buffers_;
  size_t depth_ = 0;
  OwnProcessCopy copy_;
};

}  // namespace

Self::Self(core::Process& process, Sink& sink, uint32_t channel)
    : process_(process), sink_(sink), channel_(channel) {}
Self::~Self() = default;

bool Self::reaches(const core::Peer& peer) const noexcept {
  return static_cast<int>(peer.rank) == process_.world_rank && peer.nspace == 0;
}

Endpoint* Self::connect(core::Peer& peer, uint32_t) {
  if (!reaches(peer)) return nullptr;
  if (endpoint_ == nullptr)
    endpoint_ = std::make_unique<SelfEndpoint>(
        Destination{peer, channel_, process_.channel_count()}, sink_,
        process_.threaded() ? &process_.channel(channel_).progress : nullptr);
  return endpoint_.get();
}

std::unique_ptr<Btl> Self::for_channel(Sink& sink, uint32_t channel) {
  return std::make_unique<Self>(process_, sink, channel);
}

extern const Transport kTransport{
    .name = "self",
    .reaches = "the own rank",
    .make = [](core::Process& process, Sink& sink, AddressBook&) -> std::unique_ptr<Btl> {
      return std::make_unique<Self>(process, sink);
    },
    .try_here = try_here};

}  // namespace tern::btl::self
