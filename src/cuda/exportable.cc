// SPDX-License-Identifier: Apache-2.0
#include "cuda/exportable.hpp"

#include "cuda/mapping.hpp"

namespace tern::cuda {
namespace {

bool can_share(const Driver& driver, CUdevice device) noexcept {
  int can = 0, exports = 0;
  if (!can_map(driver)) return false;
  (void)driver.cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                    device);
  (void)driver.cuDeviceGetAttribute(
      &exports, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, device);
  return can != 0 && exports != 0;
}

CUmemAllocationProp exportable_on(const Driver& driver, CUdevice device) noexcept {
  CUmemAllocationProp properties{};
  int adapters = 0;
  (void)driver.cuDeviceGetAttribute(
      &adapters, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, device);
  properties.allocFlags.gpuDirectRDMACapable = adapters != 0 ? 1 : 0;
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

// The mapping keeps the memory, so the handle is released.
CUresult map_new(const Driver& driver, CUdevice device, size_t alignment, Exportable* made,
                 const char** function) noexcept {
  const CUmemAllocationProp properties = exportable_on(driver, device);
  size_t grain = 0;
  *function = "cuMemGetAllocationGranularity";
  CUresult result =
      driver.cuMemGetAllocationGranularity(&grain, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  if (result != CUDA_SUCCESS) return result;
  made->bytes = (made->bytes + grain - 1) / grain * grain;
  CUmemGenericAllocationHandle handle = 0;
  *function = "cuMemCreate";
  result = driver.cuMemCreate(&handle, made->bytes, &properties, 0);
  if (result != CUDA_SUCCESS) return result;
  result = map(driver, handle, made->bytes, alignment > grain ? alignment : 0, device,
               &made->address, function);
  (void)driver.cuMemRelease(handle);
  made->mapped = result == CUDA_SUCCESS;
  return result;
}

}  // namespace

CUresult allocate_exportable(const Driver& driver, size_t bytes, size_t alignment, Exportable* made,
                             const char** function) noexcept {
  *made = {.address = 0, .bytes = bytes, .mapped = false};
  CUdevice device = 0;
  *function = "cuCtxGetDevice";
  const CUresult result = driver.cuCtxGetDevice(&device);
  if (result != CUDA_SUCCESS) return result;
  if (can_share(driver, device)) return map_new(driver, device, alignment, made, function);
  return allocate_plain(driver, bytes, made, function);
}

CUresult allocate_plain(const Driver& driver, size_t bytes, Exportable* made,
                        const char** function) noexcept {
  *made = {.address = 0, .bytes = bytes, .mapped = false};
  *function = "cuMemAlloc_v2";
  return driver.cuMemAlloc_v2(&made->address, bytes);
}

CUresult free_exportable(const Driver& driver, const Exportable& memory) noexcept {
  if (!memory.mapped) return driver.cuMemFree_v2(memory.address);
  const CUresult ended = driver.cuCtxSynchronize();  // unlike cuMemFree, unmapping does not wait
  const CUresult unmapped = unmap(driver, memory.address, memory.bytes);
  return ended == CUDA_SUCCESS ? unmapped : ended;
}

}  // namespace tern::cuda
