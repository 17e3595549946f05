// SPDX-License-Identifier: Apache-2.0
// Device memory allocated for sharing with other processes: MPI_Alloc_mem, and scratch of GPU
// teams.
// Why: cuMemCreate memory is shared by descriptors, which work where legacy IPC handles do not.
// Lifetime: until free_exportable(). Threads: any.
#pragma once

#include <cstddef>

#include "cuda/driver.hpp"

namespace tern::cuda {

struct Exportable {
  CUdeviceptr address = 0;
  size_t bytes = 0;
  bool mapped = false;
};

/// Allocates in the current context; `alignment` 0 accepts any. On failure *function names the
/// driver call, and nothing stays allocated.
[[nodiscard]] CUresult allocate_exportable(const Driver& driver, size_t bytes, size_t alignment,
                                           Exportable* made, const char** function) noexcept;
/// Allocates with cuMemAlloc, for legacy IPC handles where descriptors fail.
[[nodiscard]] CUresult allocate_plain(const Driver& driver, size_t bytes, Exportable* made,
                                      const char** function) noexcept;
/// Requires the context of the allocation. Waits for all work of the context.
CUresult free_exportable(const Driver& driver, const Exportable& memory) noexcept;

}  // namespace tern::cuda
