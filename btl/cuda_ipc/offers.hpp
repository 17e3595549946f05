// SPDX-License-Identifier: Apache-2.0
// Naming own device memory for other processes.
#pragma once

#include "btl/device.hpp"

namespace tern::btl::cuda_ipc {

/// Fills the card for `bytes` at `address`. Null, or why the memory cannot be shared. Memory of the
/// own process always has a card: ranks that are threads need no handle.
[[nodiscard]] const char* offer(cuda::Device& device, const cuda::Memory& memory,
                                const void* address, size_t bytes, MemoryCard* card) noexcept;

}  // namespace tern::btl::cuda_ipc
