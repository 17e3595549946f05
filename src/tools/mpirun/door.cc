// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/door.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>

#include "base/error.hpp"
#include "tools/mpirun/pmix_server.hpp"

namespace tern::mpirun {
namespace {

bool is_same_user(int socket) noexcept {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
         peer.uid == ::getuid();
}

}  // namespace

bool Caller::waits() const noexcept {
  char byte;
  return socket_.valid() && ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EINTR);
}

bool Caller::tell(const std::string& sentence) noexcept {
  if (!waits()) return false;
  std::uint64_t length = sentence.size();
  iovec parts[] = {{&length, sizeof length}, {const_cast<char*>(sentence.data()), sentence.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  const auto all = static_cast<ssize_t>(sizeof length + sentence.size());
  const bool told = ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) == all;
  socket_.reset();
  return told;
}

Door::Door(Loop& loop, Handler on_request)
    : loop_(loop),
      on_request_(std::move(on_request)),
      name_("tern-mpirun-" + random_name()),
      listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name_.copy(address.sun_path + 1, sizeof address.sun_path - 1);  // an abstract name
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(listener_.get(), SOMAXCONN) != 0)
    name_.clear();
  else
    listen();
}

Door::~Door() {
  loop_.forget(listener_.get());
  loop_.forget_timers(this);
  for (const auto& [fd, guest] : guests_) loop_.forget(fd);
}

void Door::listen() {
  loop_.watch(listener_.get(), EPOLLIN, [this] { on_call(); });
}

void Door::on_call() {
  constexpr double kPause = 0.1;  // seconds
  Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid() && (errno == EMFILE || errno == ENFILE)) {
    loop_.forget(listener_.get());
    return loop_.after(kPause, this, [this] { listen(); });
  }
  if (!socket.valid() || !is_same_user(socket.get())) return;
  const int fd = socket.get();
  guests_[fd].socket = std::move(socket);
  loop_.watch(fd, EPOLLIN, [this, fd] { read(fd); });
}

void Door::read(int fd) {
  Guest& guest = guests_.at(fd);
  std::uint64_t length = 0;
  char part[65536];
  const ssize_t got = ::recv(fd, part, sizeof part, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  bool over = got <= 0;
  try {
    if (!over) guest.text.append(part, static_cast<std::size_t>(got));
  } catch (const std::exception&) {
    over = true;  // no memory
  }
  if (guest.text.size() >= sizeof length) std::memcpy(&length, guest.text.data(), sizeof length);
  const bool whole =
      guest.text.size() >= sizeof length && guest.text.size() - sizeof length >= length;
  if (!over && !whole) return;
  loop_.forget(fd);
  Guest taken = std::move(guest);
  guests_.erase(fd);
  if (over) return;
  taken.text.erase(0, sizeof length);
  on_request_(std::make_shared<Caller>(std::move(taken.socket)), taken.text);
}

}  // namespace tern::mpirun
