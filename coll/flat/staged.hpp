// SPDX-License-Identifier: Apache-2.0
// Staged: host copies of a small flat collective's device buffers, since slots are host memory.
#pragma once

#include <vector>

#include "coll/engine/operation.hpp"
#include "core/device_copy.hpp"

namespace tern::coll {

[[nodiscard]] bool uses_device(const Operation& operation) noexcept;

class Staged {
 public:
  explicit Staged(const Operation& operation);
  [[nodiscard]] Failure download() noexcept;
  [[nodiscard]] Failure upload() noexcept;
  [[nodiscard]] const Operation& operation() const noexcept { return staged_; }

 private:
  struct Moved {
    core::Data user;
    std::vector<std::byte> bytes;  // packed
  };
  void stage(Side& side, MPI_Count elements, Moved& moved);
  core::Process& process_;
  core::Datatype* byte_;
  Operation staged_;
  Moved input_, output_;
};

}  // namespace tern::coll
