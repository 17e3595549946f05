// SPDX-License-Identifier: Apache-2.0
#include "cuda/mapping.hpp"

namespace tern::cuda {

constinit std::atomic<void (*)(uintptr_t, size_t) noexcept> withdraw{nullptr};

bool can_map(const Driver& driver) noexcept {
  return driver.cuMemCreate != nullptr && driver.cuMemRelease != nullptr &&
         driver.cuMemAddressReserve != nullptr && driver.cuMemAddressFree != nullptr &&
         driver.cuMemMap != nullptr && driver.cuMemUnmap != nullptr &&
         driver.cuMemSetAccess != nullptr && driver.cuMemGetAllocationGranularity != nullptr;
}

CUresult map(const Driver& driver, CUmemGenericAllocationHandle handle, size_t bytes,
             size_t alignment, int ordinal, CUdeviceptr* address, const char** function) noexcept {
  *function = "cuMemAddressReserve";
  CUresult result = driver.cuMemAddressReserve(address, bytes, alignment, 0, 0);
  if (result != CUDA_SUCCESS) return result;
  *function = "cuMemMap";
  result = driver.cuMemMap(*address, bytes, 0, handle, 0);
  if (result != CUDA_SUCCESS) {
    (void)driver.cuMemAddressFree(*address, bytes);
    return result;
  }
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  *function = "cuMemSetAccess";
  result = driver.cuMemSetAccess(*address, bytes, &access, 1);
  if (result != CUDA_SUCCESS) (void)unmap(driver, *address, bytes);
  return result;
}

CUresult unmap(const Driver& driver, CUdeviceptr address, size_t bytes) noexcept {
  if (const auto tell = withdraw.load(std::memory_order_acquire); tell != nullptr)
    tell(address, bytes);
  const CUresult unmapped = driver.cuMemUnmap(address, bytes);
  const CUresult freed = driver.cuMemAddressFree(address, bytes);
  return unmapped != CUDA_SUCCESS ? unmapped : freed;
}

}  // namespace tern::cuda
