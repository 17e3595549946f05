// SPDX-License-Identifier: Apache-2.0
// Stripes: accumulates apply their elements one at a time, whatever their types and origins.
// Why: one mechanism for every predefined type, alignment and operation, so that all mix: eight
// locks per target, by the place in its memory. Alone an element costs one atomic operation, as a
// loop of compare-and-swap would; long vectors run as fast as a plain loop.
// The holder of a stripe waits for nothing. A dead holder is found, and gives an error.
// Threads: any, of any process of the host. See: tests/unit/rma/stripes_test.cc.
#pragma once

#include <cstddef>

#include "rma/elements.hpp"

namespace tern::rma {

/// In mapped host memory.
class MappedElements final : public ElementMemory {
 public:
  using ElementMemory::apply;
  using ElementMemory::ElementMemory;
  [[nodiscard]] int apply(std::byte* at, size_t count, const Element& element,
                          const Operands& operands) noexcept override;
  [[nodiscard]] int compare_and_swap(std::byte* at, size_t bytes, const void* compare,
                                     const void* value, void* result) noexcept override;
};

}  // namespace tern::rma
