// SPDX-License-Identifier: Apache-2.0
// Memory of every kind for MPI, filled by synchronous copies without Tern, like a user's program.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "cuda/api.hpp"
#include "tests/mpi/check.h"

extern "C" {
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes);
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes);
}

namespace tern::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr int kSlowness = 6;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr int kSlowness = 2;
#else
inline constexpr int kSlowness = 1;
#endif

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

struct Area {
  CUdeviceptr at = 0;
  size_t bytes = 0;
  bool on_host = false;
  std::function<void()> free;
  Area() = default;
  Area(Kind kind, size_t size);
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;
  Area(Area&& other) noexcept
      : at(other.at),
        bytes(other.bytes),
        on_host(other.on_host),
        free(std::exchange(other.free, nullptr)) {}
  ~Area() {
    if (free) free();
  }
  [[nodiscard]] void* address(size_t offset = 0) const {
    return reinterpret_cast<void*>(at + offset);
  }
  void put(const void* data, size_t size, size_t offset = 0) const {
    if (on_host)
      std::memcpy(address(offset), data, size);
    else if (size > 0)
      CU(cuMemcpyHtoD_v2(at + offset, data, size));
  }
  void put(const std::vector<uint8_t>& data, size_t offset = 0) const {
    put(data.data(), data.size(), offset);
  }
  void get(void* data, size_t size, size_t offset = 0) const {
    if (on_host)
      std::memcpy(data, address(offset), size);
    else if (size > 0)
      CU(cuMemcpyDtoH_v2(data, at + offset, size));
  }
  [[nodiscard]] std::vector<uint8_t> get(size_t size, size_t offset = 0) const {
    std::vector<uint8_t> data(size);
    get(data.data(), size, offset);
    return data;
  }
};

inline Area of_host(void* address, size_t bytes, void (*free)(void* address)) {
  Area area;
  area.at = reinterpret_cast<CUdeviceptr>(address);
  area.bytes = bytes;
  area.on_host = true;
  area.free = [address, free] { free(address); };
  return area;
}

inline Area plain_host(size_t bytes) { return of_host(std::malloc(bytes), bytes, std::free); }

inline Area pinned(size_t bytes) {
  void* address = nullptr;
  CU(cuMemHostAlloc(&address, bytes, CU_MEMHOSTALLOC_PORTABLE));
  return of_host(address, bytes, [](void* at) { CU(cuMemFreeHost(at)); });
}

inline Area registered(size_t bytes) {
  void* const address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  CU(cuMemHostRegister_v2(address, bytes, CU_MEMHOSTREGISTER_PORTABLE));
  return of_host(address, bytes, [](void* at) {
    CU(cuMemHostUnregister(at));
    std::free(at);
  });
}

inline Area plain(size_t bytes) {
  Area area;
  CU(cuMemAlloc_v2(&area.at, bytes));
  area.bytes = bytes;
  area.free = [at = area.at] { CU(cuMemFree_v2(at)); };
  return area;
}

inline int other_device() { return (rank + 1) % devices; }
inline Area on_other_device(size_t bytes) {
  CU(cuCtxPushCurrent_v2(contexts[other_device()]));
  Area area = plain(bytes);
  CU(cuCtxPopCurrent_v2(nullptr));
  return area;
}

inline Area managed(size_t bytes) {
  Area area;
  CU(cuMemAllocManaged(&area.at, bytes, CU_MEM_ATTACH_GLOBAL));
  area.bytes = bytes;
  area.free = [at = area.at] { CU(cuMemFree_v2(at)); };
  return area;
}

inline void free_pooled(CUdeviceptr at) {
  CU(cuMemFreeAsync(at, nullptr));
  CU(cuStreamSynchronize(nullptr));
}

inline Area default_pool(size_t bytes) {
  Area area;
  CU(cuMemAllocAsync(&area.at, bytes, nullptr));
  CU(cuStreamSynchronize(nullptr));
  area.bytes = bytes;
  area.free = [at = area.at] { free_pooled(at); };
  return area;
}

inline CUmemoryPool make_pool() {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, rank % devices};
  CUmemoryPool pool = nullptr;
  CU(cuMemPoolCreate(&pool, &properties));
  return pool;
}

inline Area from_pool(CUmemoryPool pool, size_t bytes) {
  Area area;
  CU(cuMemAllocFromPoolAsync(&area.at, bytes, pool, nullptr));
  CU(cuStreamSynchronize(nullptr));
  area.bytes = bytes;
  area.free = [at = area.at] { free_pooled(at); };
  return area;
}

inline Area exportable_pool(size_t bytes) {
  const CUmemoryPool pool = make_pool();
  Area area = from_pool(pool, bytes);
  area.free = [at = area.at, pool] {
    free_pooled(at);
    CU(cuMemPoolDestroy(pool));
  };
  return area;
}

/// mapped() maps `parts` handles in one range, like PyTorch's expandable segments: even parts of
/// type `even`, odd parts of type `odd`.
inline Area mapped(size_t bytes, int parts, CUmemAllocationHandleType even,
                   CUmemAllocationHandleType odd) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, rank % devices};
  size_t grain = 0;
  CU(cuMemGetAllocationGranularity(&grain, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  const auto count = static_cast<size_t>(parts);
  const size_t part = (bytes / count + grain) / grain * grain;
  Area area;
  area.bytes = part * count;
  CU(cuMemAddressReserve(&area.at, area.bytes, 0, 0, 0));
  for (size_t i = 0; i < count; ++i) {
    CUmemGenericAllocationHandle handle = 0;
    properties.requestedHandleTypes = i % 2 == 0 ? even : odd;
    CU(cuMemCreate(&handle, part, &properties, 0));
    CU(cuMemMap(area.at + i * part, part, 0, handle, 0));
    CU(cuMemRelease(handle));  // the mapping keeps the memory
  }
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CU(cuMemSetAccess(area.at, area.bytes, &access, 1));
  area.free = [at = area.at, part, count] {
    for (size_t i = 0; i < count; ++i) CU(cuMemUnmap(at + i * part, part));
    CU(cuMemAddressFree(at, part * count));
  };
  return area;
}

inline constexpr auto kFd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
inline constexpr auto kNone = CU_MEM_HANDLE_TYPE_NONE;

inline Area area_of(Kind kind, size_t bytes) {
  switch (kind) {
    case Kind::kHost:
      return plain_host(bytes);
    case Kind::kPinned:
      return pinned(bytes);
    case Kind::kRegistered:
      return registered(bytes);
    case Kind::kDevice:
      return plain(bytes);
    case Kind::kOtherDevice:
      return on_other_device(bytes);
    case Kind::kManaged:
      return managed(bytes);
    case Kind::kPool:
      return default_pool(bytes);
    case Kind::kMapped:
      break;
  }
  return mapped(bytes, 1, kFd, kFd);
}
inline Area::Area(Kind kind, size_t least) : Area(area_of(kind, least == 0 ? 1 : least)) {}

inline std::vector<uint8_t> bytes_of(size_t bytes, unsigned seed) {
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(i * 131 + seed * 7 + (i >> 8));
  return data;
}

}  // namespace tern::test
