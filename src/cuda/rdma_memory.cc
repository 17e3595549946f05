// SPDX-License-Identifier: Apache-2.0
#include "cuda/rdma_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace tern::cuda {

// The driver exports whole pages of the host only. Memory of small allocations lies within larger
// blocks.
DmaBuf export_dma_buf(const Memory& memory) noexcept {
  const Driver* const known = driver();
  int supported = 0, fd = -1;
  if (known == nullptr || known->cuMemGetHandleForAddressRange == nullptr ||
      known->cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED,
                                  memory.device) != CUDA_SUCCESS ||
      supported == 0)
    return {};
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = memory.base / page * page;
  const uintptr_t end = (memory.base + memory.bytes + page - 1) / page * page;
  if (known->cuMemGetHandleForAddressRange(&fd, begin, end - begin,
                                           CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0) != CUDA_SUCCESS)
    return {};
  (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return {Fd(fd), memory.base - begin};
}

bool needs_flush(const Device& device) noexcept {
  return device.attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) <
         CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER;
}

bool can_flush(const Device& device) noexcept {
  return device.driver.cuFlushGPUDirectRDMAWrites != nullptr &&
         (device.attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS) &
          CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) != 0;
}

CUresult flush_adapter_writes(const Device& device) noexcept {
  const Current current(device);
  return device.driver.cuFlushGPUDirectRDMAWrites(
      CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
}

}  // namespace tern::cuda
