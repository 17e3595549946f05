// SPDX-License-Identifier: Apache-2.0
// Outbox: sends the ledger's descriptors to readers, the peers with a request.
// Why: see base/mail.hpp. A peer asks once; new descriptors follow unasked, before their handle.
// Threads: under the lock of Exports.
#pragma once

#include <vector>

#include "btl/cuda_ipc/ledger.hpp"
#include "btl/cuda_ipc/letters.hpp"

namespace tern::btl::cuda_ipc {

class Outbox {
 public:
  explicit Outbox(const Ledger& ledger);
  /// Returns the next request; false: none. The sender becomes a reader.
  bool next(Ask* ask, Address* from);
  [[nodiscard]] const std::vector<Address>& readers() const noexcept { return readers_; }
  /// Collects a descriptor; a full parcel is sent at once.
  void add(const Address& to, uint32_t row, uint64_t stamp, int descriptor);
  void send(const Address& to);
  /// Forgets readers with closed sockets.
  void forget_the_gone();

 private:
  const uint64_t ledger_;
  MailSocket socket_;
  std::vector<Address> readers_, gone_;
  Parcel parcel_;
  int descriptors_[Parcel::kMost];
};

}  // namespace tern::btl::cuda_ipc
