// SPDX-License-Identifier: Apache-2.0
// Mail: datagrams with descriptors between the processes of one user on one host.
// Why: where a process may not take another's descriptors (Docker's seccomp profile refuses
// pidfd_getfd, and so may Yama), their owner must send them.
// Nothing here ever waits: what does not fit into a queue is not sent, and is asked for again.
// Letters of other users are thrown away, and no letter's contents are believed.
// Lifetime: a socket has an abstract name, which goes with it. See: btl/cuda_ipc/letters.hpp,
// coll/gpu/multicast.hpp, base/keeper.hpp (the letters), tests/unit/btl/mail_test.cc.
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
  static constexpr size_t kMostDescriptors = 128;  // beside a letter
  /// At this address; at one that the system finds where it has none. Not valid() where the system
  /// refuses.
  explicit MailSocket(const Address& at) noexcept;
  /// An end of an existing pair: letters need no address.
  explicit MailSocket(Fd end) noexcept;
  [[nodiscard]] bool valid() const noexcept { return socket_.valid(); }
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  /// Where it takes letters.
  [[nodiscard]] Address address() const noexcept;
  /// 0, or why it was not sent (errno).
  int send(const Address& to, const void* data, size_t bytes, const int* descriptors,
           size_t count) const noexcept;
  /// The bytes of the next letter of the same user; 0 if no letter is there.
  size_t receive(void* data, size_t most, std::vector<Fd>* descriptors, Address* from) const;

 private:
  Fd socket_;
};

}  // namespace tern
