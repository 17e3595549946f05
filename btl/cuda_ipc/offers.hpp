// SPDX-License-Identifier: Apache-2.0
// Naming own device memory for other processes.
#pragma once

#include <string>

#include "btl/device.hpp"

namespace tern::btl::cuda_ipc {

/// Fills the handle for `bytes` at `address`. False where the memory cannot be shared, with the
/// reason and, where there is one, the cure. Memory of the own process always has a handle: ranks
/// that are threads need no handle.
[[nodiscard]] bool offer(cuda::Device& device, const cuda::Memory& memory, const void* address,
                         size_t bytes, MemoryHandle* handle, std::string* why_not);

}  // namespace tern::btl::cuda_ipc
