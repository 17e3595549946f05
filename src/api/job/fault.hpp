// SPDX-License-Identifier: Apache-2.0
// FaultTolerance: the life cycle of src/api/fault, for Runtime.
// Life cycle: make before the connection info is published, enter() after the fence of MPI_Init,
// leave() before the end. Threads: one caller.
#pragma once

#include <memory>

#include "core/process.hpp"

namespace tern::api {

class FaultTolerance {
 public:
  virtual ~FaultTolerance() = default;
  /// Throws Error.
  virtual void enter() = 0;
  /// Returns false without fault tolerance. Otherwise waits until all living
  /// processes of this host leave.
  [[nodiscard]] virtual bool leave() noexcept = 0;
  /// With fault tolerance and several hosts, waits until all living processes of the job meet, so
  /// that each process hears all messages. Returns false otherwise. leave() follows.
  [[nodiscard]] virtual bool meet() noexcept = 0;
};

/// Throws Error.
[[nodiscard]] std::unique_ptr<FaultTolerance> make_fault_tolerance(core::Process& process);

}  // namespace tern::api
