// SPDX-License-Identifier: Apache-2.0
// Handles of physical memory: what cuMemCreate, an import and cuMulticastCreate give.
#pragma once
#include "space.hpp"

#include "cuda/api.hpp"

namespace softcuda {

CUmemGenericAllocationHandle add_handle(StoragePtr storage, unsigned long long types);
/// Null where no memory has the handle.
StoragePtr storage_of(CUmemGenericAllocationHandle handle);

}  // namespace softcuda
