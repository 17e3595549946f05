// SPDX-License-Identifier: Apache-2.0
// Outbox: sends the ledger's descriptors to readers, the peers with a request. Why: a peer asks
// once; new descriptors follow unasked, before the handle of their memory (base/mail.hpp). Threads:
// under the lock of Exports.
#pragma once

#include <vector>

#include "btl/cuda_ipc/ledger.hpp"
#include "btl/cuda_ipc/letters.hpp"

namespace tern::btl::cuda_ipc {

class Outbox {
 public:
  explicit Outbox(const Ledger& ledger);
  bool next(Ask* ask, Address* from);
  [[nodiscard]] const std::vector<Address>& readers() const noexcept { return readers_; }
  void add(const Address& to, uint32_t row, uint64_t stamp, int descriptor);
  void send(const Address& to);
  /// A reader is gone if the socket is closed.
  void forget_the_gone();

 private:
  const uint64_t ledger_;
  MailSocket socket_;
  std::vector<Address> readers_, gone_;
  Parcel parcel_;
  int descriptors_[Parcel::kMost];
};

}  // namespace tern::btl::cuda_ipc
