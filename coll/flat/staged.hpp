// SPDX-License-Identifier: Apache-2.0
// Staged: the buffers of a small flat collective in host memory, where the caller's lie on a
// device. Why: slots are the host's; below some size two copies through it are the fastest way.
// Lifetime: of one call.
#pragma once

#include <vector>

#include "coll/engine/operation.hpp"
#include "core/device_copy.hpp"

namespace tern::coll {

/// Whether a side of this rank lies on a device.
[[nodiscard]] bool uses_device(const Operation& operation) noexcept;

class Staged {
 public:
  /// Throws std::bad_alloc.
  explicit Staged(const Operation& operation);
  /// From the caller's buffers on a device to the host's.
  [[nodiscard]] Failure download() noexcept;
  /// The result, from the host's buffers to the caller's on a device.
  [[nodiscard]] Failure upload() noexcept;
  [[nodiscard]] const Operation& operation() const noexcept { return staged_; }

 private:
  struct Moved {
    core::Data user;               // all blocks of a side
    std::vector<std::byte> bytes;  // packed
  };
  void stage(Side& side, MPI_Count elements, Moved& moved);
  core::Process& process_;
  core::Datatype* byte_;
  Operation staged_;
  Moved input_, output_;
};

}  // namespace tern::coll
