// SPDX-License-Identifier: Apache-2.0
// Device memory that other processes can map, from the start.
// Why: memory from cuMemCreate is shared by descriptors, which work where the driver's older
// handles do not; MPI_Alloc_mem and the scratch of a team of GPUs take it alike. Lifetime: until
// free_exportable(). Threads: any. See: src/api/device_memory.cc, coll/gpu/team_memory.hpp,
// btl/cuda_ipc/.
#pragma once

#include <cstddef>

#include "cuda/driver.hpp"

namespace tern::cuda {

struct Exportable {
  CUdeviceptr address = 0;
  size_t bytes = 0;     // at least what was asked for
  bool mapped = false;  // by cuMemCreate; else by cuMemAlloc, where the device has no other
};

/// In the context that is current. `alignment` 0 for any. What failed, named in *function, leaves
/// nothing behind.
[[nodiscard]] CUresult allocate_exportable(const Driver& driver, size_t bytes, size_t alignment,
                                           Exportable* made, const char** function) noexcept;
/// The same by cuMemAlloc, whose older handles serve where descriptors do not.
[[nodiscard]] CUresult allocate_plain(const Driver& driver, size_t bytes, Exportable* made,
                                      const char** function) noexcept;
/// In the same context. Waits for all work of the context.
CUresult free_exportable(const Driver& driver, const Exportable& memory) noexcept;

}  // namespace tern::cuda
