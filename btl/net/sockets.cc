// SPDX-License-Identifier: Apache-2.0
// SocketWatch: finds descriptors in /proc, also behind nested epoll descriptors.
#include "btl/net/sockets.hpp"

#include <dirent.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tern::btl::net {
namespace {

constexpr int kDeepest = 4;

bool is_tcp(int fd, bool wants_listener) noexcept {
  int protocol = 0, listens = 0;
  socklen_t bytes = sizeof protocol;
  if (::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &bytes) != 0) return false;
  bytes = sizeof listens;
  return protocol == IPPROTO_TCP &&
         ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 &&
         (listens != 0) == wants_listener;
}

bool is_connection(int fd) noexcept { return is_tcp(fd, false); }

/// Other descriptors contain nothing.
std::vector<int> descriptors_in(int epoll) noexcept {
  std::vector<int> found;
  std::FILE* const file = std::fopen(("/proc/self/fdinfo/" + std::to_string(epoll)).c_str(), "re");
  if (file == nullptr) return found;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    int fd = -1;
    if (std::sscanf(line, "tfd: %d", &fd) == 1) found.push_back(fd);
  }
  std::fclose(file);
  return found;
}

/// Without the standard streams.
std::vector<int> open_descriptors() {
  std::vector<int> found;
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return found;
  while (const dirent* const entry = ::readdir(folder))
    if (const int fd = std::atoi(entry->d_name); fd > STDERR_FILENO) found.push_back(fd);
  ::closedir(folder);
  return found;
}

void set(int fd, int level, int option, int value) noexcept {
  (void)::setsockopt(fd, level, option, &value, sizeof value);
}

// The kernel's own limits stay above the watch, except while the connection is being made.
void limit(int fd, bool connects, int64_t timeout_us) noexcept {
  constexpr int64_t kOfKernelUs = 900'000'000;
  const int64_t user_us = connects || timeout_us > kOfKernelUs ? timeout_us : 0;
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
      static_cast<int>(std::min<int64_t>(user_us / 1000, INT32_MAX)));
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 0);
}

using Ask = int (*)(int, sockaddr*, socklen_t*);

SocketPlace place_of(const void* address, size_t bytes) noexcept {
  sockaddr_storage end{};
  std::memcpy(&end, address, std::min(bytes, sizeof end));
  SocketPlace place;
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

SocketPlace place_of(const std::string& address) noexcept {
  return place_of(address.data(), address.size());
}

SocketPlace end_of(int fd, Ask ask) noexcept {
  sockaddr_storage end{};
  socklen_t bytes = sizeof end;
  if (ask(fd, reinterpret_cast<sockaddr*>(&end), &bytes) != 0) return {};
  return place_of(&end, bytes);
}

uint64_t cookie_of(int fd) noexcept {
  uint64_t cookie = 0;
  socklen_t bytes = sizeof cookie;
  return ::getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &bytes) == 0 ? cookie : 0;
}

template <class T>
bool has(const std::vector<T>& sorted, const T& one) noexcept {
  return std::binary_search(sorted.begin(), sorted.end(), one);
}

}  // namespace

void SocketWatch::add(const std::string& address) {
  const SocketPlace place = place_of(address);
  if (place.port != 0 && !has(places_, place))
    places_.insert(std::upper_bound(places_.begin(), places_.end(), place), place);
}

bool SocketWatch::is_known(const SocketPlace& place) const noexcept {
  return place.port != 0 && has(places_, place);
}

bool SocketWatch::answers(const std::string& address) const noexcept {
  return has(answering_, place_of(address).host);
}

bool SocketWatch::is_silent(const std::string& address) const noexcept {
  return has(silent_, place_of(address).host);
}

void SocketWatch::begin() noexcept {
  ++looks_;
  answering_.clear();
  silent_.clear();
  has_ended_ = false;
}

void SocketWatch::end() noexcept {
  std::erase_if(owing_, [this](const auto& one) { return one.second.look != looks_; });
  std::sort(answering_.begin(), answering_.end());
  std::sort(silent_.begin(), silent_.end());
}

// A retransmission may follow a short failure only after the same time again, hence the grace.
void SocketWatch::look_at(int fd, int64_t now_ns) noexcept {
  constexpr int64_t kGraceUs = 1'000'000;
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return;
  limit(fd, info.tcpi_state == TCP_SYN_SENT, timeout_us_);
  if (info.tcpi_state != TCP_ESTABLISHED && info.tcpi_state != TCP_CLOSE_WAIT) return;
  const Host host = end_of(fd, ::getpeername).host;
  try {
    Owing& owing = owing_[cookie_of(fd)];
    owing.look = looks_;
    if (info.tcpi_unacked == 0 && info.tcpi_probes == 0)
      owing.since_ns = 0;
    else if (owing.since_ns == 0)
      owing.since_ns = now_ns;
    const int64_t silent_us = owing.since_ns == 0
                                  ? 0
                                  : std::min((now_ns - owing.since_ns) / 1000,
                                             static_cast<int64_t>(info.tcpi_last_ack_recv) * 1000);
    if (silent_us < timeout_us_ + kGraceUs) {
      if (silent_us < kGraceUs) answering_.push_back(host);
      return;
    }
    silent_.push_back(host);
  } catch (const std::exception&) {
    return;  // the next look decides
  }
  has_ended_ = true;
  (void)::shutdown(fd, SHUT_RDWR);
}

int SocketWatch::look_below(int epoll, int64_t now_ns, int depth) noexcept {
  int seen = 0;
  for (const int fd : descriptors_in(epoll)) {
    if (is_connection(fd)) {
      look_at(fd, now_ns);
      ++seen;
    } else if (depth < kDeepest) {
      seen += look_below(fd, now_ns, depth + 1);
    }
  }
  return seen;
}

int SocketWatch::look_below(int epoll, int64_t now_ns) noexcept {
  begin();
  const int seen = look_below(epoll, now_ns, 0);
  end();
  return seen;
}

int SocketWatch::look(int64_t now_ns) noexcept {
  begin();
  int seen = 0;
  for (const int fd : open_descriptors()) {
    if (!is_connection(fd)) continue;
    if (!is_known(end_of(fd, ::getsockname)) && !is_known(end_of(fd, ::getpeername))) continue;
    look_at(fd, now_ns);
    ++seen;
  }
  end();
  return seen;
}

int epoll_listening_at(const std::string& address) {
  const in_port_t port = place_of(address).port;
  const auto listens = [port](int fd) {
    return is_tcp(fd, true) && end_of(fd, ::getsockname).port == port;
  };
  for (const int epoll : open_descriptors()) {
    const std::vector<int> inside = descriptors_in(epoll);
    if (std::any_of(inside.begin(), inside.end(), listens)) return epoll;
  }
  return -1;
}

}  // namespace tern::btl::net
