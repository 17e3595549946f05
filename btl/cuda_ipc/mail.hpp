// SPDX-License-Identifier: Apache-2.0
// Mail: datagrams with descriptors between the processes of one user on one host.
// Why: where a process may not take another's descriptors (Docker's seccomp profile refuses
// pidfd_getfd, and so may Yama), their owner must send them.
// Nothing here ever waits: what does not fit into a queue is not sent, and is asked for again.
// Letters of other users are thrown away, and no letter's contents are believed.
// Lifetime: a socket has an abstract name, which goes with it. See: btl/cuda_ipc/README.md,
// tests/unit/btl/mail_test.cc.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"

namespace tern::btl::cuda_ipc {

/// From an importer: the ledger of this number is wanted, and the descriptors of its rows from this
/// one on, for so many bytes.
struct Ask {
  static constexpr uint64_t kMagic = 0x316b'7361'6465'6c74;
  uint64_t magic = kMagic;
  uint64_t ledger = 0, bytes = 0;
  uint32_t row = 0, reserved = 0;
};

/// From an owner, with as many descriptors: of which rows they are. Row 0 is the ledger.
struct Parcel {
  static constexpr uint64_t kMagic = 0x3170'6361'6465'6c74;
  static constexpr uint32_t kMost = 128;
  struct Item {
    uint64_t stamp;
    uint32_t row, reserved;
  };
  uint64_t magic = kMagic;
  uint64_t ledger = 0;
  uint32_t count = 0, reserved = 0;
  Item items[kMost] = {};
};

struct Address {
  sockaddr_un name{};
  socklen_t length = 0;
  bool operator==(const Address& other) const noexcept;
};
/// Where the owner of a ledger takes letters.
[[nodiscard]] Address address_of(int pid, uint64_t ledger) noexcept;

class MailSocket {
 public:
  /// At this address; at any where it has none. invalid() where the system refuses.
  explicit MailSocket(const Address& at) noexcept;
  [[nodiscard]] bool valid() const noexcept { return socket_.valid(); }
  /// 0, or why it was not sent (errno).
  int send(const Address& to, const void* data, size_t bytes, const int* descriptors,
           size_t count) const noexcept;
  /// The bytes of the next letter of the same user; 0 if no letter is there.
  size_t receive(void* data, size_t most, std::vector<Fd>* descriptors, Address* from) const;

 private:
  Fd socket_;
};

}  // namespace tern::btl::cuda_ipc
