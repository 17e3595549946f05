// SPDX-License-Identifier: Apache-2.0
// Network: what transports between hosts have in common: addresses, first contacts, frames that
// come.
// Lifetime: the Table of a channel. Threads: under the channel's lock.
// See: README.md of this folder.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "btl/address_book.hpp"
#include "btl/net/attention.hpp"
#include "btl/net/endpoint.hpp"
#include "btl/transport.hpp"

namespace tern::btl::net {

class Network : public Btl {
 public:
  std::string address() final;
  bool reaches(const core::Peer& peer) const noexcept final;
  bool may_lose_peers() const noexcept final { return true; }
  Endpoint* connect(core::Peer& peer, uint32_t hint) final;
  Doorbell* doorbell() noexcept final { return &bell_; }
  void set_leaving() noexcept final { leaving_ = true; }

 protected:
  /// `library`: as users know it; `interfaces`: its variable that says which it is to use.
  Network(core::Process& process, Sink& sink, AddressBook& book, uint32_t channel,
          const char* library, const char* interfaces);

  /// Of this channel, as the library has it. Throws Error.
  [[nodiscard]] virtual std::string library_address() = 0;
  /// `address`: the peer's library_address(). Throws Error.
  [[nodiscard]] virtual std::unique_ptr<NetEndpoint> make_endpoint(const Destination& leads_to,
                                                                   const std::string& address,
                                                                   const Origin& own) = 0;
  /// Whether the peer's devices are of the same machine, as where both are containers of one.
  [[nodiscard]] bool shares_machine(const core::Peer& peer) const;
  /// A frame that came, its head first: checks it, and hands it to its endpoint.
  void arrived(std::span<const std::byte> message) noexcept;
  /// Drops what came: it costs its sender a frame, never this process.
  void refuse(const char* why) noexcept;

  core::Process& process_;
  Sink& sink_;
  AddressBook& book_;
  const uint32_t channel_;
  Attention attention_;
  int frames_ = 0;  // of this round
  bool leaving_ = false;

  /// Those that were made; each is what make_endpoint gave.
  std::unordered_map<uint64_t, std::unique_ptr<NetEndpoint>> endpoints_;  // by rank and channel

 private:
  NetEndpoint& endpoint_to(core::Peer& peer, uint32_t channel, uint32_t channels,
                           const std::string& address);
  NetEndpoint* known(uint32_t rank, uint32_t channel) noexcept;
  void explain(const char* variable) const;
  void take(const WireHead& head, std::span<const std::byte> payload);

  const char* const library_;
  const uint32_t cookie_;  // what frames to this channel must name
  Doorbell bell_;          // for threads of this rank, where it is alone on its host
  bool told_refusal_ = false;
};

/// Whether this process has peers on other hosts, or TERN_TRANSPORT names this transport: others
/// open no library.
[[nodiscard]] bool is_wanted(const core::Process& process, const char* transport) noexcept;

}  // namespace tern::btl::net
