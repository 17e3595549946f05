// SPDX-License-Identifier: Apache-2.0
// Stripes: locks for accumulates: eight per target, selected by address.
// Why: all types, alignments and operations mix. An uncontended element costs one atomic operation;
// long vectors run as fast as a plain loop. A holder waits for nothing, and a dead holder gives an
// error. Threads: any, of any process of the host.
#pragma once

#include <cstddef>

#include "rma/elements.hpp"

namespace tern::rma {

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
