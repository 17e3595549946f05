// SPDX-License-Identifier: Apache-2.0
// FarElements: elements in another process's memory, read into an array, changed, and written back
// under the target's stripe. Cost: two system calls for up to 16 KiB, in at most 64 pieces.
// Threads: any.
#pragma once

#include <cstdint>

#include "rma/elements.hpp"

namespace tern::rma {

class FarElements final : public ElementMemory {
 public:
  FarElements(const Shared& shared, int32_t process) noexcept
      : ElementMemory(shared), process_(process) {}
  [[nodiscard]] int apply(std::byte* at, size_t count, const Element& element,
                          const Operands& operands) noexcept override;
  [[nodiscard]] int apply(const iovec* pieces, size_t count, size_t packed, const Element& element,
                          const Operands& operands) noexcept override;
  [[nodiscard]] int compare_and_swap(std::byte* at, size_t bytes, const void* compare,
                                     const void* value, void* result) noexcept override;

 private:
  class Gathered;
  const int32_t process_;
};

}  // namespace tern::rma
