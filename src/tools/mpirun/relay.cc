// SPDX-License-Identifier: Apache-2.0
// Passing bytes between sockets.
#include "tools/mpirun/relay.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace tern::mpirun {

Relay::Relay(Loop& loop, Fd left, Fd right) : loop_(loop) {
  left_.fd = std::move(left);
  right_.fd = std::move(right);
  for (const int fd : {left_.fd.get(), right_.fd.get()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  watch();
}

Relay::~Relay() { finish(); }

bool Relay::finished() const noexcept { return !left_.fd.valid(); }

void Relay::watch() {
  const auto events = [](const Side& side, const Side& other) {
    const std::uint32_t read = side.way.ended || !side.way.held.empty() ? 0u : EPOLLIN;
    const std::uint32_t write = other.way.held.empty() ? 0u : EPOLLOUT;
    return read | write;
  };
  loop_.watch(left_.fd.get(), events(left_, right_), [this] { on_ready(); });
  loop_.watch(right_.fd.get(), events(right_, left_), [this] { on_ready(); });
}

void Relay::on_ready() {
  move(left_, right_);
  if (!finished()) move(right_, left_);
  if (finished()) return;
  if (left_.way.ended && right_.way.ended && left_.way.held.empty() && right_.way.held.empty())
    finish();
  else
    watch();
}

void Relay::move(Side& from, Side& to) {
  Way& way = from.way;
  if (way.held.empty() && !way.ended) {
    char buffer[16384];
    const ssize_t got = ::read(from.fd.get(), buffer, sizeof buffer);
    if (got > 0) way.held.assign(buffer, static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) way.ended = true;
    if (way.ended) ::shutdown(to.fd.get(), SHUT_WR);
  }
  if (way.held.empty()) return;
  const ssize_t put =
      ::send(to.fd.get(), way.held.data() + way.sent, way.held.size() - way.sent, MSG_NOSIGNAL);
  if (put < 0 && errno != EAGAIN && errno != EINTR) return finish();
  if (put > 0) way.sent += static_cast<std::size_t>(put);
  if (way.sent == way.held.size()) {
    way.held.clear();
    way.sent = 0;
  }
}

void Relay::finish() {
  for (Side* side : {&left_, &right_}) {
    if (side->fd.valid()) loop_.forget(side->fd.get());
    side->fd.reset();
  }
}

}  // namespace tern::mpirun
