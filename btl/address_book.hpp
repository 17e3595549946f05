// SPDX-License-Identifier: Apache-2.0
// AddressBook: what the peers have published of themselves, looked up at first contact and checked
// before any of it is used.
// Lifetime: channel 0's Table, for all channels. Threads: any.
#pragma once

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

  /// This process's entry without addresses, which transports add.
  [[nodiscard]] ConnectionInfo own() const;
  /// Publishes an address of this process: in `info` where it has room, else under a key of its
  /// own. Throws Error.
  void list(ConnectionInfo& info, std::string_view transport, uint32_t channel,
            const std::string& address);

  /// Throws Error that names the rank, what differs, and the cure.
  const ConnectionInfo& of(const core::Peer& peer);
  /// Of one of the peer's channels; empty if this transport has published none. Throws Error.
  [[nodiscard]] std::string address(const core::Peer& peer, std::string_view transport,
                                    uint32_t channel);
  /// As a transport's own struct; throws Error where the peer's has another size.
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

  core::Process& process_;
  std::mutex mutex_;
  std::unordered_map<uint32_t, ConnectionInfo> known_;  // by rank; an entry stays where it is
};

}  // namespace tern::btl
