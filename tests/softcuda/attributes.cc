// SPDX-License-Identifier: Apache-2.0
// cuPointerGetAttributes and related functions.
#include <string.h>

#include "config.hpp"
#include "memory.hpp"

namespace softcuda {
namespace {

template <class T>
CUresult put(void* data, T value) {
  memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

int ordinal_of(const Allocation& here) {
  const int visible = softcuda::ordinal_of(here.physical);
  return visible >= 0 || here.context == nullptr ? visible : here.context->ordinal;
}

bool accessible_by_host(const Allocation& here) { return !here.on_device(); }

bool is_host(const Allocation& here) {
  return here.kind == Kind::kHost || here.kind == Kind::kRegistered;
}

// Booleans are one byte: the bytes behind stay untouched.
CUresult tell(void* data, CUpointer_attribute attribute, uintptr_t address,
              const Allocation& here) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(data, here.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(data, is_host(here) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(data, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      put(data, accessible_by_host(here) ? address : uintptr_t{0});
      return accessible_by_host(here) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return put(data, unsigned{here.sync_memops});
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(data, here.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(data, unsigned{here.kind == Kind::kManaged});
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(data, ordinal_of(here));
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put(data, here.kind == Kind::kDevice);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(data, range_of(here).first);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return put(data, here.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(data, range_of(here).second);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return put(data, here.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(data, true);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put(data, here.handle_types);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return put(data, config().rdma != Rdma::kOff && here.on_device() && here.storage != nullptr &&
                           here.storage->rdma);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put(data, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(data, here.pool);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return put(data, here.storage == nullptr ? uint64_t{0} : here.storage->block);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

void tell_nothing(void* data, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      put(data, 0u);
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      put(data, -2);
      break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
      put(data, false);
      break;
    default:
      put(data, uint64_t{0});
      break;
  }
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuPointerGetAttributes(unsigned numAttributes, CUpointer_attribute* attributes,
                                void** data, CUdeviceptr ptr) {
  SOFTCUDA_ENTER(kDriver, numAttributes, ptr);
  const std::optional<Allocation> found = find_allocation(ptr);
  for (unsigned i = 0; i < numAttributes; ++i) {
    if (found)
      tell(data[i], attributes[i], ptr, *found);
    else
      tell_nothing(data[i], attributes[i]);
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  SOFTCUDA_ENTER(kDriver, attribute, ptr);
  const std::optional<Allocation> found = find_allocation(ptr);
  return found ? tell(data, attribute, ptr, *found) : CUDA_ERROR_INVALID_VALUE;
}

// cuPointerSetAttribute waits for pending work on the memory.
CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr ptr) {
  SOFTCUDA_ENTER(kContext, attribute, ptr);
  if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
  bool possible = false;
  Place late;
  change_allocation(ptr, [&](Allocation& here) {
    possible = here.kind == Kind::kDevice || here.kind == Kind::kManaged;
    unsigned on = 0;
    memcpy(&on, value, sizeof on);
    if (!possible) return;
    here.sync_memops = on != 0;
    if (here.sync_memops) late = here.late;
  });
  if (!possible) return CUDA_ERROR_INVALID_VALUE;
  return late.stream == nullptr ? CUDA_SUCCESS : wait_for(late);
}

}  // extern "C"
