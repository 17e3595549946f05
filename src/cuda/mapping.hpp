// SPDX-License-Identifier: Apache-2.0
// Mapping: an allocation handle (cuMemCreate, or imported) at addresses of this process.
// Why: memory that MPI_Alloc_mem makes, and memory that others share, is mapped the same way.
// Lifetime: until unmap(); the mapping keeps the memory, so the handle may be released before.
// Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cuda/driver.hpp"

namespace tern::cuda {

/// Whether the driver has all that it takes.
[[nodiscard]] bool can_map(const Driver& driver) noexcept;
/// `bytes` of the handle, readable and writable by the device of this ordinal; `alignment` 0 for
/// any. What failed, named in *function, leaves nothing behind.
[[nodiscard]] CUresult map(const Driver& driver, CUmemGenericAllocationHandle handle, size_t bytes,
                           size_t alignment, int ordinal, CUdeviceptr* address,
                           const char** function) noexcept;
/// First `withdraw` is called (null before memory was named for other processes): a descriptor that
/// names the memory would keep it.
CUresult unmap(const Driver& driver, CUdeviceptr address, size_t bytes) noexcept;

extern std::atomic<void (*)(uintptr_t address, size_t bytes) noexcept> withdraw;

}  // namespace tern::cuda
