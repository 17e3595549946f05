// SPDX-License-Identifier: Apache-2.0
#include "base/mail.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tern {
namespace {

union Beside {
  cmsghdr aligned;
  char room[CMSG_SPACE(sizeof(int) * MailSocket::kMostDescriptors) + CMSG_SPACE(sizeof(ucred))];
};

bool open_beside(msghdr& message, std::vector<Fd>* descriptors) {
  bool same_user = false;
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET) continue;
    const size_t bytes = at->cmsg_len - CMSG_LEN(0);
    if (at->cmsg_type == SCM_RIGHTS) {
      for (size_t i = 0; i < bytes / sizeof(int); ++i) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(at) + i * sizeof descriptor, sizeof descriptor);
        descriptors->emplace_back(descriptor);
      }
    } else if (at->cmsg_type == SCM_CREDENTIALS && bytes >= sizeof(ucred)) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(at), sizeof sender);
      same_user = sender.uid == ::getuid();
    }
  }
  return same_user && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
}

}  // namespace

bool Address::operator==(const Address& other) const noexcept {
  return length == other.length && std::memcmp(&name, &other.name, length) == 0;
}

MailSocket::MailSocket(Fd end) noexcept : socket_(std::move(end)) {
  const int on = 1;
  if (socket_.valid() && ::setsockopt(socket_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
    socket_.reset();
}

MailSocket::MailSocket(const Address& at) noexcept
    : MailSocket(Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))) {
  if (!socket_.valid()) return;
  sockaddr_un any{};
  any.sun_family = AF_UNIX;
  const auto* const name = reinterpret_cast<const sockaddr*>(at.length > 0 ? &at.name : &any);
  const socklen_t length = at.length > 0 ? at.length : sizeof any.sun_family;
  if (::bind(socket_.get(), name, length) != 0) socket_.reset();
}

Address MailSocket::address() const noexcept {
  Address here;
  here.length = sizeof here.name;
  auto* const name = reinterpret_cast<sockaddr*>(&here.name);
  if (::getsockname(socket_.get(), name, &here.length) != 0) here.length = 0;
  return here;
}

int MailSocket::send(const Address& to, const void* data, size_t bytes, const int* descriptors,
                     size_t count, int flags) const noexcept {
  iovec part{const_cast<void*>(data), bytes};
  Beside beside{};
  msghdr message{};
  if (to.length > 0) message.msg_name = const_cast<sockaddr_un*>(&to.name);
  message.msg_namelen = to.length;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = beside.room;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(head), descriptors, count * sizeof(int));
  }
  return ::sendmsg(socket_.get(), &message, flags | MSG_NOSIGNAL) < 0 ? errno : 0;
}

size_t MailSocket::receive(void* data, size_t most, std::vector<Fd>* descriptors,
                           Address* from) const {
  for (int letters = 0; letters < 64; ++letters) {
    descriptors->clear();
    iovec part{data, most};
    Beside beside{};
    msghdr message{};
    message.msg_name = &from->name;
    message.msg_namelen = sizeof from->name;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = beside.room;
    message.msg_controllen = sizeof beside.room;
    const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) break;
    from->length = message.msg_namelen;
    if (open_beside(message, descriptors) && got > 0) return static_cast<size_t>(got);
  }
  descriptors->clear();
  return 0;
}

}  // namespace tern
