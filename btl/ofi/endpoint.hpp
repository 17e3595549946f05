// SPDX-License-Identifier: Apache-2.0
// OfiEndpoint: one channel of a peer of another host.
// Lifetime: Ofi. Threads: under the channel's lock.
#pragma once

#include <string>

#include "base/error.hpp"
#include "btl/net/endpoint.hpp"
#include "btl/ofi/port.hpp"

namespace tern::btl::ofi {

class OfiEndpoint final : public net::NetEndpoint, ZeroCopy {
 public:
  /// `address`: the peer's port's. Throws Error.
  OfiEndpoint(Port& port, Sink& sink, const Destination& leads_to, bool maps,
              const std::string& address, const Origin& own);

  bool send(const Header& header, const void* payload) noexcept override;
  std::byte* begin(size_t bytes) noexcept override;
  void commit(const Header& header) noexcept override;
  Start start_send(const Header& header, const iovec& prefix, const iovec& data,
                   Operation& operation) noexcept override;
  size_t max_payload() const noexcept override { return Port::kPayload; }
  const char* transport() const noexcept override { return "ofi"; }
  const char* reason() const noexcept override { return "libfabric: the network"; }

  /// libfabric has let go of a frame; `error`: its number, or 0.
  void ended(Sending& sending, int error) noexcept;
  /// Sends what found no room before. False where some of it still finds none.
  bool send_waiting() noexcept;
  /// For a peer of which nothing is heard: asks whether it is there, and fails where what is under
  /// way to it has not moved for `timeout_ns`. Called several times in that.
  void look_after(int64_t now_ns, int64_t timeout_ns) noexcept;
  bool told = false;  // the sink, that it failed

 private:
  /// Whether it is on its way, or has failed; false: no room.
  bool post(Sending& sending) noexcept;
  bool begun(ssize_t result) noexcept;
  void let_go(Sending& sending) noexcept;
  TERN_COLD void fail(const std::string& why) noexcept;
  TERN_COLD void probe() noexcept;
  [[nodiscard]] bool is_waiting() const noexcept {
    return refused_ || under_way_ != 0 || waiting_ != nullptr || lacks_frame();
  }

  Port& port_;
  const fi_addr_t to_;
  Sending* filling_ = nullptr;  // between begin() and commit()
  Sending* waiting_ = nullptr;  // it found no room; then no other is begun
  uint32_t under_way_ = 0;
  bool refused_ = false;  // the last attempt found no room
  uint32_t moved_ = 0;    // counts what went or ended; goes round
  // Of look_after().
  uint32_t seen_moved_ = 0, seen_arrivals_ = 0;
  int64_t since_ns_ = 0;  // nothing has moved
  bool probe_refused_ = false;
  bool waited_ = false;  // something, since then
};

}  // namespace tern::btl::ofi
