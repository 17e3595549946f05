// SPDX-License-Identifier: Apache-2.0
// OfiEndpoint: a channel of a peer on another host.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "btl/net/endpoint.hpp"
#include "btl/ofi/port.hpp"

namespace tern::btl::ofi {

class OfiEndpoint final : public net::NetEndpoint, ZeroCopy, Rdma {
 public:
  OfiEndpoint(core::Process& process, Port& port, Sink& sink, const Destination& leads_to,
              bool maps, const std::string& address, bool has_rdma, const Origin& own);

  bool send(const Header& header, const void* payload) noexcept override;
  std::byte* begin(size_t bytes) noexcept override;
  void commit(const Header& header) noexcept override;
  Start start_send(const Header& header, const iovec& prefix, const iovec& data,
                   Operation& operation) noexcept override;
  std::unique_ptr<MemoryRegion> register_memory(void* address, size_t bytes) noexcept override;
  std::unique_ptr<MemoryRegion> register_device(const iovec& block) noexcept override {
    return port_.transfers().devices->lease(block);
  }
  std::unique_ptr<RemoteKey> import_key(std::span<const std::byte> key) noexcept override;
  Start start_put(const RemoteKey& key, uint64_t address, const LocalMemory& from,
                  Operation& operation) noexcept override;
  Start start_get(const RemoteKey& key, uint64_t address, const LocalMemory& into,
                  Operation& operation) noexcept override;
  Start start_flush(Operation& operation) noexcept override;
  size_t max_payload() const noexcept override { return Port::kPayload; }
  const char* transport() const noexcept override { return "ofi"; }
  const char* reason() const noexcept override { return reason_.c_str(); }

  void ended(Sending& sending, int error) noexcept;
  void ended(Transfer& transfer, int error) noexcept;
  /// Posts the transfer's next piece.
  void go_on(Transfer& transfer) noexcept;
  bool send_waiting() noexcept;
  [[nodiscard]] uint32_t frames_under_way() const noexcept { return under_way_; }
  bool told = false;

 private:
  struct LastPut {
    uint64_t key, last_byte;
  };
  Start start(Transfer::Kind kind, const KeyAndBase& key, uint64_t address,
              const LocalMemory& local, Operation& operation) noexcept;
  bool post(Transfer& transfer) noexcept;
  void finish(Transfer& transfer) noexcept;
  bool post(Sending& sending) noexcept;
  bool begun(ssize_t result) noexcept;
  void let_go(Sending& sending) noexcept;
  TERN_COLD void fail(const std::string& why) noexcept override;
  TERN_COLD void probe() noexcept override;
  TERN_COLD void probe_with_completion(const WireHead& head) noexcept;
  [[nodiscard]] bool is_waiting() const noexcept override {
    return refused_ || waiting_ != nullptr || host_owes();
  }
  /// A peer may compute while libfabric puts in software.
  [[nodiscard]] bool host_owes() const noexcept {
    return under_way_ != 0 ||
           (transfers_under_way_ != 0 && (offloaded || port_.fabric->is_sockets()));
  }
  /// A stopped process fills the socket. Without a socket, no room means no connection.
  [[nodiscard]] bool host_answers() const noexcept override {
    return host_owes() && port_.sockets.answers(address_);
  }
  [[nodiscard]] const char* lost_by(int64_t silent_ns, int64_t timeout_ns) noexcept override;

  core::Process& process_;
  Port& port_;
  const std::string address_;
  const std::string reason_;
  const fi_addr_t to_;
  Sending* filling_ = nullptr;
  Sending* waiting_ = nullptr;  // found libfabric's queue full; blocks later frames
  uint32_t under_way_ = 0, transfers_under_way_ = 0;
  TransferOrder order_;
  std::optional<LastPut> unflushed_;
  bool refused_ = false;
  bool probe_refused_ = false;
};

}  // namespace tern::btl::ofi
