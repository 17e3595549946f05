// SPDX-License-Identifier: Apache-2.0
// Elements on this rank's device, changed by kernels, or on the host, under their stripe. Threads:
// any.
#pragma once

#include <cstddef>

#include "rma/elements.hpp"

namespace tern::rma {

/// DeviceElements may also return MPI_ERR_NO_MEM.
class DeviceElements final : public ElementMemory {
 public:
  DeviceElements(const Shared& shared, core::Process& process) noexcept
      : ElementMemory(shared), process_(process) {}
  using ElementMemory::apply;
  [[nodiscard]] int apply(std::byte* at, size_t count, const Element& element,
                          const Operands& operands) noexcept override;
  [[nodiscard]] int compare_and_swap(std::byte* at, size_t bytes, const void* compare,
                                     const void* value, void* result) noexcept override;

 private:
  core::Process& process_;
};

}  // namespace tern::rma
