// SPDX-License-Identifier: Apache-2.0
// Handles of physical memory, from cuMemCreate, imports and cuMulticastCreate.
#pragma once
#include "space.hpp"

#include "cuda/api.hpp"

namespace softcuda {

CUmemGenericAllocationHandle add_handle(StoragePtr storage, unsigned long long types);
StoragePtr storage_of(CUmemGenericAllocationHandle handle);

}  // namespace softcuda
