// SPDX-License-Identifier: Apache-2.0
// Driver calls that name mappings (cuMemCreate) for other processes.
#pragma once

#include "btl/cuda_ipc/ledger.hpp"

namespace tern::btl::cuda_ipc {

struct Named {
  CUresult result = CUDA_SUCCESS;
  const char* function = "";
};
[[nodiscard]] Named export_mapping(const cuda::Driver& driver, uintptr_t base, Row* row,
                                   Fd* descriptor) noexcept;

}  // namespace tern::btl::cuda_ipc
