// SPDX-License-Identifier: Apache-2.0
// KernelReports: what the kernels of a team say to the host while they wait for other ranks'.
// Why: a kernel that waits cannot be asked, and one that has given up leaves wrong data behind,
// which the user must be told. Lifetime: of the pinned memory, which the team has.
// Threads: any; the kernels write what is read here.
// See: cuda/kernels/wait.cuh.
#pragma once

#include <cstdint>
#include <optional>

#include "coll/gpu/layout.hpp"
#include "cuda/kernels/arguments.hpp"

namespace tern::coll {

class KernelReports {
 public:
  /// Of so many blocks of threads, all zero at first.
  KernelReports(cuda::KernelReport* reports, int count) noexcept
      : reports_(reports), count_(count) {}

  struct Said {
    int part;
    cuda::KernelReport report;
  };
  /// Of a block that waits now.
  [[nodiscard]] std::optional<Said> waiting() const noexcept;
  /// Of a block that gave up: one that waited in vain before one that was told to.
  [[nodiscard]] std::optional<Said> given_up() const noexcept;

 private:
  [[nodiscard]] std::optional<Said> find(uint32_t state) const noexcept;
  cuda::KernelReport* const reports_;  // null: none
  const int count_;
};

}  // namespace tern::coll
