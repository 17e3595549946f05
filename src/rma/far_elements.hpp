// SPDX-License-Identifier: Apache-2.0
// FarElements: elements in the memory of another process of this host, which the kernel lets this
// one read and write: read into an array here, changed, written back, all under their stripe.
// Why: the target need not help, and who accumulates in its own memory takes the same stripes.
// Cost: two system calls for up to kRoom bytes, in at most kMostPieces pieces.
// Threads: any. See: rma/stripes.hpp, tests/unit/rma/stripes_test.cc.
#pragma once

#include <sys/uio.h>

#include "rma/elements.hpp"

namespace tern::rma {

class FarElements {
 public:
  FarElements(const Shared& shared, const Element& element, const Operands& operands) noexcept
      : shared_(shared), element_(element), rest_(operands) {}

  /// `count` elements at an address there, with the operands behind those before. Changes elements
  /// when there is no room left, or another stripe begins. 0, or MPI_ERR_OTHER with fail() text.
  [[nodiscard]] int add(std::byte* at, size_t count) noexcept;
  /// Changes those that are left.
  [[nodiscard]] int end() noexcept;

 private:
  static constexpr size_t kMostPieces = 64, kRoom = 16384;

  const Shared& shared_;
  const Element& element_;
  Operands rest_;
  iovec there_[kMostPieces], here_[kMostPieces];
  size_t pieces_ = 0, count_ = 0;  // and elements
  uint64_t stripe_ = 0;
  alignas(64) std::byte room_[kRoom];
};

/// Under the stripe, which is held.
[[nodiscard]] int compare_and_swap_far(const Shared& shared, std::byte* at, size_t bytes,
                                       const void* compare, const void* value,
                                       void* result) noexcept;

}  // namespace tern::rma
