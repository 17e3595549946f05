// SPDX-License-Identifier: Apache-2.0
// Ofi: the transport between hosts, over libfabric.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "btl/net/network.hpp"
#include "btl/ofi/endpoint.hpp"

namespace tern::btl::ofi {

class Ofi final : public net::Network {
 public:
  Ofi(core::Process& process, Sink& sink, AddressBook& book, std::shared_ptr<const Fabric> fabric,
      uint32_t channel);
  ~Ofi() override;

  const char* name() const noexcept override { return "ofi"; }
  bool goes_first() const noexcept override { return port_.fabric->is_fast(); }
  int progress() noexcept override;
  std::unique_ptr<Btl> for_channel(Sink& sink, uint32_t channel) override;
  bool is_quiet() noexcept override;
  Alarm alarm() noexcept override;
  /// Throws Error.
  void require_lockable_memory() {
    ofi::require_lockable_memory(*port_.fabric, *port_.transfers().regions);
  }

 private:
  net::DeviceCache* devices() noexcept override { return port_.transfers().devices.get(); }
  std::string library_address() override;
  std::unique_ptr<net::NetEndpoint> make_endpoint(const Destination& leads_to,
                                                  const std::string& address,
                                                  const Origin& own) override;
  Armed arm() noexcept;
  int read_queue() noexcept;
  void completed(const fi_cq_data_entry& entry) noexcept;
  /// False: a receive.
  bool ended(CompletionContext& context, int error) noexcept;
  TERN_COLD void read_error() noexcept;
  TERN_COLD void post_again() noexcept;
  TERN_COLD void send_waiting() noexcept;
  TERN_COLD void go_on_with_paused() noexcept;
  TERN_COLD void give_up_failed() noexcept;
  TERN_COLD void look_at_connections(int64_t now_ns) noexcept override;

  Port port_;
  int busy_ = 0;
  uint32_t rounds_ = 0;
  bool told_error_ = false;
};

[[nodiscard]] std::vector<Trial> try_here();

}  // namespace tern::btl::ofi
