// SPDX-License-Identifier: Apache-2.0
// Elements of the own part where that lies on a device: changed by kernels, and where no kernel
// serves brought to the host and taken back, under their stripe. Threads: any. See:
// rma/stripes.hpp, tests/gpu/mpi/windows.cc.
#pragma once

#include <cstddef>

#include "rma/elements.hpp"

namespace tern::rma {

/// As apply(), at an address of a device of `shared.device`. Also MPI_ERR_NO_MEM.
[[nodiscard]] int apply_on_device(const Shared& shared, std::byte* at, size_t count,
                                  const Element& element, const Operands& operands) noexcept;
/// As compare_and_swap(), whose stripe is held.
[[nodiscard]] int swap_on_device(const Shared& shared, std::byte* at, size_t bytes,
                                 const void* compare, const void* value, void* result) noexcept;

}  // namespace tern::rma
