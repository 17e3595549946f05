// SPDX-License-Identifier: Apache-2.0
// UcxEndpoint: one channel of a peer on another host.
#pragma once

#include <string>

#include "btl/net/endpoint.hpp"
#include "btl/ucx/lanes.hpp"
#include "btl/ucx/pulse.hpp"
#include "btl/ucx/worker.hpp"

namespace tern::btl::ucx {

class UcxEndpoint final : public net::NetEndpoint, ZeroCopy, Rdma {
 public:
  UcxEndpoint(core::Process& process, Worker& worker, Sink& sink, const Destination& leads_to,
              bool maps, const PulseAndAddress& address, const Origin& own);
  ~UcxEndpoint() override;

  bool send(const Header& header, const void* payload) noexcept override;
  std::byte* begin(size_t bytes) noexcept override;
  void commit(const Header& header) noexcept override;
  Start start_send(const Header& header, const iovec& prefix, const iovec& data,
                   Operation& operation) noexcept override;
  std::unique_ptr<MemoryRegion> register_memory(void* address, size_t bytes) noexcept override;
  std::unique_ptr<MemoryRegion> register_device(const iovec& block) noexcept override {
    return worker_.devices->lease(block);
  }
  std::unique_ptr<RemoteKey> import_key(std::span<const std::byte> key) noexcept override;
  Start start_put(const RemoteKey& key, uint64_t address, const LocalMemory& from,
                  Operation& operation) noexcept override;
  Start start_get(const RemoteKey& key, uint64_t address, const LocalMemory& into,
                  Operation& operation) noexcept override;
  Start start_flush(Operation& operation) noexcept override;
  size_t max_payload() const noexcept override { return Worker::kPayload; }
  const char* transport() const noexcept override { return "ucx"; }
  const char* reason() const noexcept override { return reason_.c_str(); }

  [[nodiscard]] bool closed() const noexcept { return ep_ == nullptr; }
  /// close() does not contact the peer. Returns the close request, or null.
  [[nodiscard]] void* close() noexcept;
  /// Before the worker ends, which counts keys.
  void forget_pulse() noexcept { pulse_.reset(); }

 private:
  [[nodiscard]] bool send_small(const Header& header, const void* payload) noexcept;
  [[nodiscard]] bool send_now(const WireHead& head, const void* payload) noexcept;
  void* post(const void* what, size_t count, ucp_request_param_t* params, void* user_data) noexcept;
  static void sent(void* request, ucs_status_t status, void* block) noexcept;
  static void ended(void* request, ucs_status_t status, void* direct) noexcept;
  TERN_COLD Start refused(ucs_status_t status) noexcept;
  Start begun(void* request, Direct& direct) noexcept;
  [[nodiscard]] Direct* direct_for(Operation& operation) noexcept;
  static void failed(void* endpoint, ucp_ep_h, ucs_status_t status) noexcept;

  [[nodiscard]] bool is_waiting() const noexcept override { return asked_; }
  TERN_COLD void probe() noexcept override;
  [[nodiscard]] bool touch_pulse() noexcept;
  static void answered(void* request, ucs_status_t status, void* endpoint) noexcept;
  void fail(const std::string& why) noexcept override;

  core::Process& process_;
  Worker& worker_;
  ucp_ep_h ep_ = nullptr;
  Lanes lanes_;
  std::string reason_;
  const std::string pulse_key_;
  const uint64_t pulse_word_;
  std::unique_ptr<RemoteKey> pulse_;
  FrameBuffer* filling_ = nullptr;
  bool asked_ = false;  // the host owes an acknowledgement
};

}  // namespace tern::btl::ucx
