// SPDX-License-Identifier: Apache-2.0
// The driver calls that name mappings (cuMemCreate) for other processes.
#pragma once

#include "btl/cuda_ipc/ledger.hpp"

namespace tern::btl::cuda_ipc {

/// What the driver says of the mapping at an address, or of other memory there.
[[nodiscard]] cuda::Memory mapping_at(uint64_t address) noexcept;

/// How one export ended.
struct Named {
  CUresult result = CUDA_SUCCESS;
  const char* function = "";
};
/// Puts what there is to share the mapping at `base` into a row, and its descriptor beside it.
[[nodiscard]] Named export_mapping(const cuda::Driver& driver, uintptr_t base, Row* row,
                                   Fd* descriptor) noexcept;

}  // namespace tern::btl::cuda_ipc
