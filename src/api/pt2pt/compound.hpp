// SPDX-License-Identifier: Apache-2.0
// CompoundRequest: one handle for several operations; complete when all of them are.
// Why: MPI_Isendrecv and MPI_Buffer_iflush are made of operations that exist already.
// Lifetime: the user's handle is one reference, the running operation another.
// Threads: under the channel's lock.
#pragma once

#include <cstddef>
#include <vector>

#include "core/request.hpp"

namespace tern::api {

class CompoundRequest final : public core::Request {
 public:
  explicit CompoundRequest(core::Communicator* of);
  /// Takes the caller's reference over. The outcome of the one added last is the whole's.
  void add(core::Request* part) { parts_.push_back(part); }
  /// Memory that the parts use.
  std::vector<std::byte> memory;
  /// All parts are there: from now on progress looks after them. Lock held.
  void run() noexcept;

  void describe(WaitReport* report) const override;
  void destroy() noexcept override;

 private:
  static int poll(void* self) noexcept;
  [[nodiscard]] bool try_to_finish() noexcept;

  std::vector<core::Request*> parts_;
};

}  // namespace tern::api
