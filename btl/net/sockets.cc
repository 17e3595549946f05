// SPDX-License-Identifier: Apache-2.0
// Sockets: finds descriptors in /proc, also behind nested epoll descriptors.
#include "btl/net/sockets.hpp"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace tern::btl::net {
namespace {

constexpr int kDeepest = 4;

bool is_connection(int fd) noexcept {
  int protocol = 0, listens = 0;
  socklen_t bytes = sizeof protocol;
  if (::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &bytes) != 0) return false;
  bytes = sizeof listens;
  return protocol == IPPROTO_TCP &&
         ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && listens == 0;
}

void set(int fd, int level, int option, int value) noexcept {
  (void)::setsockopt(fd, level, option, &value, sizeof value);
}

// An idle connection is probed four times per timeout.
void limit(int fd, int64_t timeout_us) noexcept {
  constexpr int kProbes = 3;
  const auto milliseconds = static_cast<int>(std::clamp<int64_t>(timeout_us / 1000, 1, INT32_MAX));
  const int seconds = std::max(1, milliseconds / 1000 / (kProbes + 1));
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, milliseconds);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

int limit_below(int epoll, int64_t timeout_us, int depth) noexcept {
  std::FILE* const file = std::fopen(("/proc/self/fdinfo/" + std::to_string(epoll)).c_str(), "re");
  if (file == nullptr) return 0;
  int limited = 0;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    int fd = -1;
    if (std::sscanf(line, "tfd: %d", &fd) != 1) continue;
    if (is_connection(fd)) {
      limit(fd, timeout_us);
      ++limited;
    } else if (depth < kDeepest) {
      limited += limit_below(fd, timeout_us, depth + 1);
    }
  }
  std::fclose(file);
  return limited;
}

using Ask = int (*)(int, sockaddr*, socklen_t*);

struct SocketAddress {
  in_port_t port = 0;
  std::array<unsigned char, sizeof(in6_addr)> host{};
  bool operator==(const SocketAddress&) const = default;
};

SocketAddress place_of(const void* address, size_t bytes) noexcept {
  sockaddr_storage end{};
  std::memcpy(&end, address, std::min(bytes, sizeof end));
  SocketAddress place;
  if (end.ss_family == AF_INET) {
    sockaddr_in four;
    std::memcpy(&four, &end, sizeof four);
    place.port = four.sin_port;
    std::memcpy(place.host.data(), &four.sin_addr, sizeof four.sin_addr);
  } else if (end.ss_family == AF_INET6) {
    sockaddr_in6 six;
    std::memcpy(&six, &end, sizeof six);
    place.port = six.sin6_port;
    std::memcpy(place.host.data(), &six.sin6_addr, sizeof six.sin6_addr);
  }
  return place;
}

SocketAddress end_of(int fd, Ask ask) noexcept {
  sockaddr_storage end{};
  socklen_t bytes = sizeof end;
  if (ask(fd, reinterpret_cast<sockaddr*>(&end), &bytes) != 0) return {};
  return place_of(&end, bytes);
}

bool leads_to(int fd, const std::vector<std::string>& addresses) noexcept {
  const SocketAddress here = end_of(fd, ::getsockname), there = end_of(fd, ::getpeername);
  return std::any_of(addresses.begin(), addresses.end(), [&](const std::string& address) {
    const SocketAddress place = place_of(address.data(), address.size());
    return place.port != 0 && (place == here || place == there);
  });
}

}  // namespace

int limit_silence(const std::vector<std::string>& addresses, int64_t timeout_us) noexcept {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int limited = 0;
  while (const dirent* const entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    if (fd <= STDERR_FILENO || !is_connection(fd) || !leads_to(fd, addresses)) continue;
    limit(fd, timeout_us);
    ++limited;
  }
  ::closedir(folder);
  return limited;
}

int limit_silence(int epoll, int64_t timeout_us) noexcept {
  return limit_below(epoll, timeout_us, 0);
}

}  // namespace tern::btl::net
