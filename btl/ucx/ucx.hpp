// SPDX-License-Identifier: Apache-2.0
// Ucx: the transport between hosts, over UCX.
// See: README.md of this folder, tests/unit/btl/behaviour_test.cc, tests/hosts/.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "btl/address_book.hpp"
#include "btl/transport.hpp"
#include "btl/ucx/endpoint.hpp"
#include "src/base/error.hpp"

namespace tern::btl::ucx {

class Ucx final : public Btl {
 public:
  Ucx(core::Process& process, Sink& sink, AddressBook& book, std::shared_ptr<Context> context,
      uint32_t channel);
  ~Ucx() override;

  const char* name() const noexcept override { return "ucx"; }
  std::string address() override;
  bool reaches(const core::Peer& peer) const noexcept override;
  bool may_lose_peers() const noexcept override { return true; }
  Endpoint* connect(core::Peer& peer, uint32_t hint) override;
  int progress() noexcept override;
  std::unique_ptr<Btl> for_channel(Sink& sink, uint32_t channel) override;
  bool is_quiet() noexcept override { return worker_.is_quiet(); }
  Alarm alarm() noexcept override;
  Doorbell* doorbell() noexcept override { return &bell_; }
  void set_leaving() noexcept override { leaving_ = true; }

 private:
  UcxEndpoint& endpoint_to(core::Peer& peer, uint32_t channel, uint32_t channels);
  void take(const WireHead& head, std::span<const std::byte> payload);
  void refuse(const char* why) noexcept;
  bool arm() noexcept;
  TERN_COLD void give_up_failed() noexcept;
  TERN_COLD void limit_silence_of_new() noexcept;
  static ucs_status_t arrived(void* self, const void* head, size_t head_bytes, void* payload,
                              size_t bytes, const ucp_am_recv_param_t* how) noexcept;

  core::Process& process_;
  Sink& sink_;
  AddressBook& book_;
  const uint32_t channel_;
  const uint32_t cookie_;  // what frames to this channel must name
  Worker worker_;
  std::unordered_map<uint64_t, std::unique_ptr<UcxEndpoint>> endpoints_;  // by rank and channel
  Doorbell bell_;   // for threads of this rank, where it is alone on its host
  int busy_ = 0;    // refusals to be armed, one after the other
  int frames_ = 0;  // of this round
  uint32_t idle_rounds_ = 0;
  int looks_for_sockets_ = 0;  // to come: connections open some time after their endpoints
  int64_t next_look_ns_ = 0;
  bool told_refusal_ = false;
  bool leaving_ = false;
};

/// ucx/trial.cc.
[[nodiscard]] std::vector<Trial> try_here();

}  // namespace tern::btl::ucx
