// SPDX-License-Identifier: Apache-2.0
// Outbox: sends descriptors of this process's ledger to the peers that have asked.
// Why: see base/mail.hpp. A peer that has asked once gets what is new without asking again, before
// the handle that names it.
// Threads: under the lock of Exports.
#pragma once

#include <vector>

#include "btl/cuda_ipc/ledger.hpp"
#include "btl/cuda_ipc/letters.hpp"

namespace tern::btl::cuda_ipc {

class Outbox {
 public:
  explicit Outbox(const Ledger& ledger);
  /// The next request; false if there is no more. A peer that asks is a reader from now on.
  bool next(Ask* ask, Address* from);
  [[nodiscard]] const std::vector<Address>& readers() const noexcept { return readers_; }
  /// A descriptor for the next send(); full ones are sent at once.
  void add(const Address& to, uint32_t row, uint64_t stamp, int descriptor);
  void send(const Address& to);
  /// Those whose sockets are gone.
  void forget_the_gone();

 private:
  const uint64_t ledger_;
  MailSocket socket_;
  std::vector<Address> readers_, gone_;
  Parcel parcel_;
  int descriptors_[Parcel::kMost];
};

}  // namespace tern::btl::cuda_ipc
