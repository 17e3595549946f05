// SPDX-License-Identifier: Apache-2.0
// Maps an allocation handle (cuMemCreate, or imported) at addresses of this process.
// Lifetime: until unmap(). The mapping keeps the memory, so the caller may release the handle.
// Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cuda/driver.hpp"

namespace tern::cuda {

[[nodiscard]] bool can_map(const Driver& driver) noexcept;
/// Maps `bytes` for device `ordinal`; `alignment` 0 accepts any. On failure *function names the
/// driver call, and nothing stays mapped.
[[nodiscard]] CUresult map(const Driver& driver, CUmemGenericAllocationHandle handle, size_t bytes,
                           size_t alignment, int ordinal, CUdeviceptr* address,
                           const char** function) noexcept;
/// unmap() first calls `withdraw`, unless null: an exported descriptor would keep the memory.
CUresult unmap(const Driver& driver, CUdeviceptr address, size_t bytes) noexcept;

extern std::atomic<void (*)(uintptr_t address, size_t bytes) noexcept> withdraw;

}  // namespace tern::cuda
