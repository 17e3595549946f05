// SPDX-License-Identifier: Apache-2.0
// Mail: datagrams with descriptors between processes of one user on one host.
// Why: Docker's seccomp profile and Yama may refuse pidfd_getfd, so the owner must send
// descriptors. Never blocks: request unsent letters again. Discards letters of other users;
// receivers trust no contents. See: btl/cuda_ipc/letters.hpp, coll/gpu/multicast.hpp,
// base/keeper.hpp (the letters), tests/unit/btl/mail_test.cc.
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
  static constexpr size_t kMostDescriptors = 128;  // per letter
  /// Binds to `at`, or to an automatic address. Not valid() if the system refuses.
  explicit MailSocket(const Address& at) noexcept;
  /// Uses an end of a socket pair.
  explicit MailSocket(Fd end) noexcept;
  [[nodiscard]] bool valid() const noexcept { return socket_.valid(); }
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  [[nodiscard]] Address address() const noexcept;
  /// Returns 0 or an errno.
  int send(const Address& to, const void* data, size_t bytes, const int* descriptors,
           size_t count) const noexcept;
  /// Bytes of the next letter; 0: none.
  size_t receive(void* data, size_t most, std::vector<Fd>* descriptors, Address* from) const;

 private:
  Fd socket_;
};

}  // namespace tern
