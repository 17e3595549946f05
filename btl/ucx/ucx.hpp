// SPDX-License-Identifier: Apache-2.0
// Ucx: the transport between hosts, over UCX.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "btl/net/network.hpp"
#include "btl/ucx/endpoint.hpp"
#include "src/base/error.hpp"

namespace tern::btl::ucx {

class Ucx final : public net::Network {
 public:
  Ucx(core::Process& process, Sink& sink, AddressBook& book, std::shared_ptr<UcpContext> context,
      uint32_t channel);
  ~Ucx() override;

  const char* name() const noexcept override { return "ucx"; }
  int progress() noexcept override;
  std::unique_ptr<Btl> for_channel(Sink& sink, uint32_t channel) override;
  bool is_quiet() noexcept override { return worker_.is_quiet(); }
  Alarm alarm() noexcept override;

 private:
  net::DeviceCache* devices() noexcept override { return worker_.devices.get(); }
  std::string library_address() override {
    return packed({pulse_.key(), pulse_.word(), worker_.address()});
  }
  bool close(net::NetEndpoint& endpoint) noexcept override;
  /// False if a request did not end.
  bool await(const std::vector<void*>& closing) noexcept;
  std::unique_ptr<net::NetEndpoint> make_endpoint(const Destination& leads_to,
                                                  const std::string& address,
                                                  const Origin& own) override;
  Armed arm() noexcept;
  TERN_COLD void give_up_failed() noexcept;
  TERN_COLD void look_at_connections(int64_t now_ns) noexcept override;
  static ucs_status_t arrived(void* self, const void* head, size_t head_bytes, void* payload,
                              size_t bytes, const ucp_am_recv_param_t* how) noexcept;

  Worker worker_;
  const Pulse pulse_;
  int busy_ = 0;
  uint32_t rounds_ = 0;
};

[[nodiscard]] std::vector<Trial> try_here();

}  // namespace tern::btl::ucx
