// SPDX-License-Identifier: Apache-2.0
// Copies in a stream between any memory kinds.
// Why: the driver refuses a copy across adjacent allocations, but types of absolute addresses may
// span several.
// Threads: any; the context is current.
#pragma once

#include <cstddef>

#include "cuda/driver.hpp"

namespace tern::cuda {

[[nodiscard]] CUresult copy(const Driver& driver, void* to, const void* from, size_t bytes,
                            CUstream stream) noexcept;
[[nodiscard]] CUresult copy_rows(const Driver& driver, void* to, size_t to_pitch, const void* from,
                                 size_t from_pitch, size_t width, size_t rows,
                                 CUstream stream) noexcept;

}  // namespace tern::cuda
