// SPDX-License-Identifier: Apache-2.0
// Names device memory of this process for others.
#pragma once

#include <string>

#include "btl/device.hpp"

namespace tern::btl::cuda_ipc {

[[nodiscard]] bool offer(cuda::Device& device, const cuda::Memory& memory, size_t bytes,
                         MemoryHandle* handle, std::string* why_not);

}  // namespace tern::btl::cuda_ipc
