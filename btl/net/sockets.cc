// SPDX-License-Identifier: Apache-2.0
// Sockets: the kernel lists what an epoll descriptor watches, other such descriptors among them.
#include "btl/net/sockets.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
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

// An idle connection is asked four times in that time.
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

}  // namespace

int limit_silence(int epoll, int64_t timeout_us) noexcept {
  return limit_below(epoll, timeout_us, 0);
}

}  // namespace tern::btl::net
