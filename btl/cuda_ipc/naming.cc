// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/naming.hpp"

#include <fcntl.h>

namespace tern::btl::cuda_ipc {
namespace {

unsigned types_of(const cuda::Driver& driver, CUmemGenericAllocationHandle handle) noexcept {
  CUmemAllocationProp properties{};
  if (driver.cuMemGetAllocationPropertiesFromHandle == nullptr ||
      driver.cuMemGetAllocationPropertiesFromHandle(&properties, handle) != CUDA_SUCCESS)
    return CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return static_cast<unsigned>(properties.requestedHandleTypes);
}

}  // namespace

// The mapping is exported in all forms that the creator allowed. The importer finds out whether a
// fabric handle works.
Named export_mapping(const cuda::Driver& driver, uintptr_t base, Row* row,
                     Fd* descriptor) noexcept {
  if (driver.cuMemRetainAllocationHandle == nullptr ||
      driver.cuMemExportToShareableHandle == nullptr)
    return {CUDA_ERROR_NOT_SUPPORTED, "cuMemExportToShareableHandle"};
  CUmemGenericAllocationHandle handle = 0;
  const CUresult retained =
      driver.cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(base));
  if (retained != CUDA_SUCCESS) return {retained, "cuMemRetainAllocationHandle"};
  const unsigned types = types_of(driver, handle);
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  if ((types & CU_MEM_HANDLE_TYPE_FABRIC) != 0) {
    static_assert(sizeof(CUmemFabricHandle) == sizeof row->handle);
    result = driver.cuMemExportToShareableHandle(row->handle, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0);
    if (result == CUDA_SUCCESS) row->forms |= Row::kFabric;
  }
  if ((types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) {
    int fd = -1;
    result = driver.cuMemExportToShareableHandle(&fd, handle,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result == CUDA_SUCCESS) {
      *descriptor = Fd(fd);
      (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
      row->forms |= Row::kDescriptor;
    }
  }
  (void)driver.cuMemRelease(handle);
  return {row->forms != 0 ? CUDA_SUCCESS : result, "cuMemExportToShareableHandle"};
}

}  // namespace tern::btl::cuda_ipc
