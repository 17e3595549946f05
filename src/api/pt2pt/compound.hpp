// SPDX-License-Identifier: Apache-2.0
// CompoundRequest: one handle and one poller for several operations (MPI_Isendrecv,
// MPI_Buffer_iflush). Threads: under the channel's lock.
#pragma once

#include <cstddef>
#include <vector>

#include "core/request.hpp"

namespace tern::api {

class CompoundRequest final : public core::Request {
 public:
  explicit CompoundRequest(core::Communicator* of);
  /// Adds a request as a part, and takes over its reference. The last part determines the outcome.
  void add(core::Request* part) { parts_.push_back(part); }
  std::vector<std::byte> memory;
  /// Starts polling the parts. The caller holds the lock.
  void run() noexcept;

  void describe(WaitReport* report) const override;
  void destroy() noexcept override;

 private:
  static int poll(void* self) noexcept;
  [[nodiscard]] bool try_to_finish() noexcept;

  std::vector<core::Request*> parts_;
};

}  // namespace tern::api
