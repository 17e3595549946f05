// SPDX-License-Identifier: Apache-2.0
// Mail: datagrams with descriptors between processes of one user on a host. Why: Docker's seccomp
// profile and Yama may refuse pidfd_getfd, so the owner must send descriptors. Mail never blocks:
// request unsent letters again. Receivers discard letters of other users, and trust no contents.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"

namespace tern {

struct Address {
  sockaddr_un name{};
  socklen_t length = 0;
  bool operator==(const Address& other) const noexcept;
};

class MailSocket {
 public:
  static constexpr size_t kMostDescriptors = 128;
  /// Binds to `at`, or to an automatic address. The socket is not valid() if the system refuses.
  explicit MailSocket(const Address& at) noexcept;
  explicit MailSocket(Fd end) noexcept;
  [[nodiscard]] bool valid() const noexcept { return socket_.valid(); }
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  [[nodiscard]] Address address() const noexcept;
  int send(const Address& to, const void* data, size_t bytes, const int* descriptors, size_t count,
           int flags = MSG_DONTWAIT) const noexcept;
  /// Returns the bytes of the next letter, or 0.
  size_t receive(void* data, size_t most, std::vector<Fd>* descriptors, Address* from) const;

 private:
  Fd socket_;
};

}  // namespace tern
