// SPDX-License-Identifier: Apache-2.0
// Devices: number, attributes, peer access.
#include <stdio.h>
#include <string.h>

#include "config.hpp"
#include "context.hpp"
#include "multicast.hpp"
#include "space.hpp"

namespace softcuda {
namespace {

struct Fact {
  CUdevice_attribute attribute;
  int value;
};

constexpr Fact kFacts[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 101376},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 16},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 256},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1},
};

int bus_of(int physical) {
  unsigned domain = 0, bus = 0;
  (void)sscanf(pci_of(config(), physical).c_str(), "%x:%x", &domain, &bus);
  return static_cast<int>(bus);
}

int rdma_attribute(CUdevice_attribute attribute) {
  if (config().rdma == Rdma::kOff) return 0;
  if (attribute == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING)
    return config().rdma == Rdma::kOrdered ? CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER
                                           : CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE;
  return 1;  // also CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST
}

int attribute_of(CUdevice_attribute attribute, int physical) {
  if ((attribute >= CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED &&
       attribute <= CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) ||
      attribute == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED ||
      attribute == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED)
    return rdma_attribute(attribute);
  if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) return bus_of(physical);
  if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
    return static_cast<int>(config().processors);
  if (attribute == CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED) return supports_multicast();
  if (attribute == CU_DEVICE_ATTRIBUTE_MPS_ENABLED) return config().mps;
  for (const Fact& fact : kFacts)
    if (fact.attribute == attribute) return fact.value;
  return 0;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuDeviceGetCount(int* count) {
  SOFTCUDA_ENTER(kDriver);
  *count = static_cast<int>(visible_devices().size());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  SOFTCUDA_ENTER(kDriver, ordinal);
  if (physical_of(ordinal) < 0) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
  SOFTCUDA_ENTER(kDriver, dev);
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  snprintf(name, static_cast<size_t>(len), "software device%s %d", config().mig ? " MIG" : "",
           physical_of(dev));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  SOFTCUDA_ENTER(kDriver, attrib, dev);
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  *pi = attribute_of(attrib, physical_of(dev));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) {
  SOFTCUDA_ENTER(kDriver, dev);
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  memset(uuid, 0, sizeof *uuid);
  snprintf(uuid->bytes, sizeof uuid->bytes, "%.4s%s-%d", (config().machine + "soft").c_str(),
           config().mig ? "mig" : "cuda", physical_of(dev));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
  SOFTCUDA_ENTER(kDriver, dev);
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  snprintf(pciBusId, static_cast<size_t>(len), "%s", pci_of(config(), physical_of(dev)).c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
  SOFTCUDA_ENTER(kDriver, dev);
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = config().memory;
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  SOFTCUDA_ENTER(kContext);
  *total = config().memory;
  *free = *total - bytes_used(current_context()->physical);
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  SOFTCUDA_ENTER(kDriver, dev, peerDev);
  const int here = physical_of(dev), there = physical_of(peerDev);
  if (here < 0 || there < 0) return CUDA_ERROR_INVALID_DEVICE;
  *canAccessPeer = here != there && link_between(here, there) != Link::kNone;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                 CUdevice dstDevice) {
  SOFTCUDA_ENTER(kDriver, attrib, srcDevice, dstDevice);
  const int here = physical_of(srcDevice), there = physical_of(dstDevice);
  if (here < 0 || there < 0 || here == there) return CUDA_ERROR_INVALID_DEVICE;
  const Link link = link_between(here, there);
  switch (attrib) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
      *value = link == Link::kNvlink ? 0 : 1;
      break;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      *value = link != Link::kNone;
      break;
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
      *value = link == Link::kNvlink;
      break;
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
      *value = 0;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // extern "C"
