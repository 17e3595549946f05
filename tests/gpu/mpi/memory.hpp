// SPDX-License-Identifier: Apache-2.0
// Memory of every kind that a program may pass to MPI, and what is in it. Why: a test is one loop
// over kinds; it acts as a user's program does, with synchronous copies, never through Tern.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "cuda/api.hpp"
#include "tests/mpi/check.h"

extern "C" {
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes);
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes);
}

namespace tern::test {

#define CU(call)                                                                    \
  do {                                                                              \
    const CUresult result_ = (call);                                                \
    const char* name_ = "?";                                                        \
    if (result_ != CUDA_SUCCESS && cuGetErrorName(result_, &name_) == CUDA_SUCCESS) \
      FAIL("%s gives %s", #call, name_);                                            \
  } while (0)

enum class Kind { kHost, kPinned, kRegistered, kDevice, kOtherDevice, kManaged, kPool, kMapped };
inline constexpr Kind kKinds[] = {Kind::kHost,   Kind::kPinned,      Kind::kRegistered,
                                  Kind::kDevice, Kind::kOtherDevice, Kind::kManaged,
                                  Kind::kPool,   Kind::kMapped};
inline const char* const kKindNames[] = {"host",         "pinned",  "registered", "device",
                                         "other_device", "managed", "pool",       "mapped"};
inline const char* name_of(Kind kind) { return kKindNames[static_cast<int>(kind)]; }

/// What a program does before it uses a GPU: the rank's own, or the first.
inline int devices = 0;
inline CUcontext contexts[16];
inline void start_cuda() {
  CU(cuInit(0));
  CU(cuDeviceGetCount(&devices));
  for (int i = 0; i < devices && i < 16; ++i) {
    CUdevice device = 0;
    CU(cuDeviceGet(&device, i));
    CU(cuDevicePrimaryCtxRetain(&contexts[i], device));
  }
  CU(cuCtxSetCurrent(contexts[rank % devices]));
}

class Memory {
 public:
  Memory(Kind kind, size_t bytes) : kind_(kind), bytes_(bytes == 0 ? 1 : bytes) { allocate(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { free(); }
  void* at(size_t offset = 0) const { return reinterpret_cast<void*>(address_ + offset); }
  bool on_host() const {
    return kind_ == Kind::kHost || kind_ == Kind::kPinned || kind_ == Kind::kRegistered;
  }
  /// By a synchronous copy from pageable memory.
  void put(const void* data, size_t bytes, size_t offset = 0) {
    if (on_host())
      std::memcpy(at(offset), data, bytes);
    else if (bytes > 0)
      CU(cuMemcpyHtoD_v2(address_ + offset, data, bytes));
  }
  void get(void* data, size_t bytes, size_t offset = 0) const {
    if (on_host())
      std::memcpy(data, at(offset), bytes);
    else if (bytes > 0)
      CU(cuMemcpyDtoH_v2(data, address_ + offset, bytes));
  }

 private:
  void allocate();
  void map();
  void free();
  Kind kind_;
  size_t bytes_;
  CUdeviceptr address_ = 0;
  CUmemGenericAllocationHandle handle_ = 0;
};

inline int other_device() { return (rank + 1) % devices; }

inline void Memory::allocate() {
  void* host = nullptr;
  switch (kind_) {
    case Kind::kHost:
      address_ = reinterpret_cast<CUdeviceptr>(std::malloc(bytes_));
      break;
    case Kind::kPinned:
      CU(cuMemHostAlloc(&host, bytes_, CU_MEMHOSTALLOC_PORTABLE));
      address_ = reinterpret_cast<CUdeviceptr>(host);
      break;
    case Kind::kRegistered:
      host = std::aligned_alloc(4096, (bytes_ + 4095) / 4096 * 4096);
      CU(cuMemHostRegister_v2(host, bytes_, CU_MEMHOSTREGISTER_PORTABLE));
      address_ = reinterpret_cast<CUdeviceptr>(host);
      break;
    case Kind::kDevice:
      CU(cuMemAlloc_v2(&address_, bytes_));
      break;
    case Kind::kOtherDevice:
      CU(cuCtxPushCurrent_v2(contexts[other_device()]));
      CU(cuMemAlloc_v2(&address_, bytes_));
      CU(cuCtxPopCurrent_v2(nullptr));
      break;
    case Kind::kManaged:
      CU(cuMemAllocManaged(&address_, bytes_, CU_MEM_ATTACH_GLOBAL));
      break;
    case Kind::kPool:
      CU(cuMemAllocAsync(&address_, bytes_, nullptr));
      CU(cuStreamSynchronize(nullptr));
      break;
    case Kind::kMapped:
      map();
  }
}

inline void Memory::map() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, rank % devices};
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  size_t granularity = 0;
  CU(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  bytes_ = (bytes_ + granularity - 1) / granularity * granularity;
  CU(cuMemCreate(&handle_, bytes_, &properties, 0));
  CU(cuMemAddressReserve(&address_, bytes_, 0, 0, 0));
  CU(cuMemMap(address_, bytes_, 0, handle_, 0));
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CU(cuMemSetAccess(address_, bytes_, &access, 1));
}

inline void Memory::free() {
  switch (kind_) {
    case Kind::kHost:
      return std::free(at());
    case Kind::kPinned:
      CU(cuMemFreeHost(at()));
      return;
    case Kind::kRegistered:
      CU(cuMemHostUnregister(at()));
      return std::free(at());
    case Kind::kPool:
      CU(cuMemFreeAsync(address_, nullptr));
      return;
    case Kind::kMapped:
      CU(cuMemUnmap(address_, bytes_));
      CU(cuMemRelease(handle_));
      CU(cuMemAddressFree(address_, bytes_));
      return;
    default:
      CU(cuMemFree_v2(address_));
  }
}

inline std::vector<uint8_t> bytes_of(size_t bytes, unsigned seed) {
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(i * 131 + seed * 7 + (i >> 8));
  return data;
}

}  // namespace tern::test
