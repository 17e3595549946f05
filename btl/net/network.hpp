// SPDX-License-Identifier: Apache-2.0
// Network: base of the transports between hosts: addresses, first contacts, received frames.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "btl/address_book.hpp"
#include "btl/net/attention.hpp"
#include "btl/net/device_cache.hpp"
#include "btl/net/endpoint.hpp"
#include "btl/net/interfaces.hpp"
#include "btl/net/options.hpp"
#include "btl/transport.hpp"

namespace tern::btl::net {

/// The library of a transport, for TERN_EXPLAIN and errors.
struct LibraryFacts {
  const char* name;
  const char* interfaces;  // the library's variable
  Choice choice;
  std::string settings;
  Served served;
};

class Network : public Btl {
 public:
  std::string address() final;
  bool reaches(const core::Peer& peer) const noexcept final;
  bool may_lose_peers() const noexcept final { return true; }
  Endpoint* connect(core::Peer& peer, uint32_t hint) final;
  Doorbell* doorbell() noexcept final { return &bell_; }
  void set_leaving() noexcept final { leaving_ = true; }
  bool say_bye(const core::Peer& peer) noexcept final;
  void part(const core::Peer& peer) noexcept final;
  void require_settings() final;

 protected:
  Network(core::Process& process, Sink& sink, AddressBook& book, uint32_t channel,
          LibraryFacts library);

  [[nodiscard]] virtual std::string library_address() = 0;
  /// make_endpoint() gets the peer's library_address(). Throws Error.
  [[nodiscard]] virtual std::unique_ptr<NetEndpoint> make_endpoint(const Destination& leads_to,
                                                                   const std::string& address,
                                                                   const Origin& own) = 0;
  /// Ends the connection; true if no operation refers to the endpoint any more.
  virtual bool close(NetEndpoint& /*endpoint*/) noexcept { return false; }
  /// Ranks in two containers may share a machine, and so their devices.
  [[nodiscard]] bool shares_machine(const core::Peer& peer) const;
  void arrived(std::span<const std::byte> message) noexcept;
  void refuse(const char* why) noexcept;
  /// look_after_peers() looks several times per TERN_NET_TIMEOUT; a call between looks is cheap.
  void look_after_peers() noexcept;
  [[nodiscard]] std::string why_lost(const NetEndpoint& endpoint) const;
  virtual void look_at_connections(int64_t /*now_ns*/) noexcept {}
  /// Null: no device memory.
  [[nodiscard]] virtual DeviceCache* devices() noexcept { return nullptr; }

  core::Process& process_;
  Sink& sink_;
  AddressBook& book_;
  const uint32_t channel_;
  Attention attention_;
  int frames_ = 0;
  bool leaving_ = false;

  // By peer index and channel.
  std::unordered_map<uint64_t, std::unique_ptr<NetEndpoint>> endpoints_;
  std::vector<std::unique_ptr<NetEndpoint>> parted_;  // operations may refer to parted ends

 private:
  NetEndpoint& endpoint_to(core::Peer& peer, uint32_t channel, uint32_t channels,
                           const std::string& address);
  NetEndpoint* known(uint32_t index, uint32_t channel) noexcept;
  [[nodiscard]] std::optional<uint32_t> sender_of(const Origin& origin) const;
  void explain() const;
  [[nodiscard]] bool speaks_for_host() const;
  void take(const WireHead& head, std::span<const std::byte> payload);

  /// A connection that has never carried a frame may lead into a wrong network.
  [[nodiscard]] std::string in_words() const;

  const LibraryFacts library_;
  const uint32_t cookie_;
  Doorbell bell_;  // for a rank alone on the host
  bool told_refusal_ = false;
  int64_t next_look_ns_ = 0, looked_ns_ = 0;
  int64_t watched_ns_ = 1;  // stands still while this rank computes or is stopped
};

/// A transport is wanted if this process has peers on other hosts, or TERN_TRANSPORT names the
/// transport.
[[nodiscard]] bool is_wanted(const core::Process& process, const char* transport) noexcept;

}  // namespace tern::btl::net
