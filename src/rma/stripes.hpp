// SPDX-License-Identifier: Apache-2.0
// Stripes: accumulates apply their elements one at a time, whatever their types and origins.
// Why: one mechanism for every predefined type, alignment and operation, so that all mix: eight
// locks per target, by the place in its memory. Alone an element costs one atomic operation, as a
// loop of compare-and-swap would; long vectors run as fast as a plain loop.
// Who holds a stripe waits for nothing. A holder that has died is found, and gives an error.
// Threads: any, of any process of the host. See: tests/unit/rma/stripes_test.cc.
#pragma once

#include <sys/uio.h>

#include <cstddef>

#include "rma/elements.hpp"

namespace tern::rma {

/// at[i] = in[i] (op) at[i], each element at once. Returns 0, or MPI_ERR_OTHER with fail() text
/// where the holder of a stripe has died.
[[nodiscard]] int apply(const Shared& shared, std::byte* at, size_t count, const Element& element,
                        const Operands& operands) noexcept;
/// The same for memory pieces, whose first byte is byte `packed` of the packed elements; operands
/// begin with the first element that begins there.
[[nodiscard]] int apply(const Shared& shared, const iovec* pieces, size_t count, size_t packed,
                        const Element& element, const Operands& operands) noexcept;
/// Writes `value` where `compare` is; `result` gets what was there. Of one element.
[[nodiscard]] int compare_and_swap(const Shared& shared, std::byte* at, size_t bytes,
                                   const void* compare, const void* value, void* result) noexcept;

}  // namespace tern::rma
