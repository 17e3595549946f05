// SPDX-License-Identifier: Apache-2.0
// SocketWatch: ends a library's TCP connections to silent hosts.
// Why: UCX and libfabric leave timeouts to the kernel (15 minutes). TCP_USER_TIMEOUT also ends the
// connection to a stopped process with a full socket, although its host answers
// (net/ipv4/tcp_timer.c: tcp_probe_timer). A host answers while its processes compute, so only a
// missing answer means a lost host or link.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tern::btl::net {

struct SocketPlace {
  in_port_t port = 0;
  std::array<unsigned char, sizeof(in6_addr)> host{};
  bool operator==(const SocketPlace&) const = default;
  auto operator<=>(const SocketPlace&) const = default;
};

/// The epoll descriptor of this process that contains the socket listening at `address` (a
/// sockaddr), or -1. The library owns the descriptor.
[[nodiscard]] int epoll_listening_at(const std::string& address);

/// A connection is silent if sent data or a probe has had no answer for the timeout. The time of
/// looks is the caller's, and may stand still while the caller does not look.
class SocketWatch {
 public:
  explicit SocketWatch(int64_t timeout_us) noexcept : timeout_us_(timeout_us) {}

  /// `address` is a sockaddr of this process or of a peer.
  void add(const std::string& address);
  /// Looks at the connections below the epoll descriptor. Returns the number of connections.
  int look_below(int epoll, int64_t now_ns) noexcept;
  /// Looks at the connections of this process with an added address.
  int look(int64_t now_ns) noexcept;

  /// The results of the last look. A host with two connections may be both.
  [[nodiscard]] bool answers(const std::string& address) const noexcept;
  [[nodiscard]] bool is_silent(const std::string& address) const noexcept;
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

 private:
  using Host = decltype(SocketPlace::host);
  struct Owing {
    int64_t since_ns;  // 0: owes nothing
    uint64_t look;
  };
  int look_below(int epoll, int64_t now_ns, int depth) noexcept;
  void look_at(int fd, int64_t now_ns) noexcept;
  [[nodiscard]] bool is_known(const SocketPlace& place) const noexcept;
  void begin() noexcept;
  void end() noexcept;

  const int64_t timeout_us_;
  std::vector<SocketPlace> places_;            // sorted
  std::unordered_map<uint64_t, Owing> owing_;  // by the kernel's cookie of the socket
  std::vector<Host> answering_, silent_;
  uint64_t looks_ = 0;
  bool has_ended_ = false;
};

}  // namespace tern::btl::net
