// SPDX-License-Identifier: Apache-2.0
// AddressBook: peers' connection info, fetched at first contact and checked. Lifetime: channel 0's
// Table. Threads: any.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "btl/connection_info.hpp"

namespace tern::core {
class Process;
struct Peer;
}  // namespace tern::core

namespace tern::btl {

class AddressBook {
 public:
  explicit AddressBook(core::Process& process) noexcept : process_(process) {}

  [[nodiscard]] ConnectionInfo own() const;
  /// list() publishes an address in `info` if it fits, else under a key.
  void list(ConnectionInfo& info, std::string_view transport, uint32_t channel,
            const std::string& address);

  using LongAddresses = std::map<std::string, std::string>;  // by address_key()
  [[nodiscard]] LongAddresses own_long() const;
  /// For a process of another world. Throws Error if its library or parameters differ.
  void learn(const core::Peer& peer, const ConnectionInfo& info, LongAddresses addresses);
  void forget(const core::Peer& peer);

  const ConnectionInfo& of(const core::Peer& peer);
  /// address() returns an empty string if the peer has not published one. Throws Error.
  [[nodiscard]] std::string address(const core::Peer& peer, std::string_view transport,
                                    uint32_t channel);
  template <class T>
  [[nodiscard]] T address_as(const core::Peer& peer, std::string_view transport, uint32_t channel) {
    T value;
    take(peer, transport, channel, &value, sizeof value);
    return value;
  }

 private:
  void take(const core::Peer& peer, std::string_view transport, uint32_t channel, void* to,
            size_t bytes);
  void check(const ConnectionInfo& info, uint32_t rank) const;
  /// For ranks of this world; worlds may have different files.
  void check_content(const ConnectionInfo& info, uint32_t rank) const;
  [[nodiscard]] std::string of_stranger(const core::Peer& peer, const std::string& key) const;

  core::Process& process_;
  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, ConnectionInfo> known_;  // by peer index
  LongAddresses own_long_;
  std::unordered_map<uint32_t, LongAddresses> strangers_;
};

}  // namespace tern::btl
