// SPDX-License-Identifier: Apache-2.0
// Every allocator of a CUDA program, and what the software driver tells about itself.
// Why: the tests pain_* act as programs do whose users suffer from CUDA-aware MPI.
#pragma once

#include <dlfcn.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "memory.hpp"
#include "tests/softcuda/user_functions.hpp"

namespace tern::test {

/// tests/softcuda/control.h; null functions on a real driver.
struct Control {
  void (*fault)(const char*) = nullptr;
  unsigned long long (*calls)(const char*) = nullptr;
  const char* (*function)(unsigned) = nullptr;
  long long (*live)(const char*) = nullptr;
  [[nodiscard]] bool there() const { return live != nullptr; }
  /// Calls of all functions.
  [[nodiscard]] unsigned long long all_calls() const {
    unsigned long long sum = 0;
    for (unsigned i = 0; function(i) != nullptr; ++i) sum += calls(function(i));
    return sum;
  }
};

inline const Control& control() {
  static const Control found = [] {
    Control one;
    const auto look = [](const char* name, auto& place) {
      place = reinterpret_cast<std::remove_reference_t<decltype(place)>>(dlsym(RTLD_DEFAULT, name));
    };
    look("softcuda_fault", one.fault);
    look("softcuda_calls", one.calls);
    look("softcuda_function", one.function);
    look("softcuda_live", one.live);
    return one;
  }();
  return found;
}

inline const char* const kLive[] = {"allocations", "streams", "events",    "imports", "mappings",
                                    "handles",     "pools",   "libraries", "host"};
inline std::vector<long long> alive() {
  std::vector<long long> counts;
  for (const char* kind : kLive) counts.push_back(control().there() ? control().live(kind) : 0);
  return counts;
}
/// After MPI_Finalize: what the library made in the driver is gone.
inline void check_alive(const std::vector<long long>& before) {
  const auto now = alive();
  for (size_t i = 0; i < now.size(); ++i)
    if (now[i] != before[i]) {
      std::fprintf(stderr, "[rank %d] %lld %s are alive after MPI_Finalize, expected %lld\n", rank,
                   now[i], kLive[i], before[i]);
      _exit(1);
    }
}

/// Memory by one of the ways in which programs get it.
struct Area {
  CUdeviceptr at = 0;
  size_t bytes = 0;
  std::function<void()> free;
  Area() = default;
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;
  Area(Area&& other) noexcept
      : at(other.at), bytes(other.bytes), free(std::exchange(other.free, nullptr)) {}
  ~Area() {
    if (free) free();
  }
  [[nodiscard]] void* address(size_t offset = 0) const {
    return reinterpret_cast<void*>(at + offset);
  }
  void put(const std::vector<uint8_t>& data, size_t offset = 0) const {
    CU(cuMemcpyHtoD_v2(at + offset, data.data(), data.size()));
  }
  [[nodiscard]] std::vector<uint8_t> get(size_t size, size_t offset = 0) const {
    std::vector<uint8_t> data(size);
    CU(cuMemcpyDtoH_v2(data.data(), at + offset, size));
    return data;
  }
};

inline Area plain(size_t bytes) {
  Area area;
  CU(cuMemAlloc_v2(&area.at, bytes));
  area.bytes = bytes;
  area.free = [at = area.at] { CU(cuMemFree_v2(at)); };
  return area;
}

inline Area managed(size_t bytes) {
  Area area;
  CU(cuMemAllocManaged(&area.at, bytes, CU_MEM_ATTACH_GLOBAL));
  area.bytes = bytes;
  area.free = [at = area.at] { CU(cuMemFree_v2(at)); };
  return area;
}

inline Area default_pool(size_t bytes) {
  Area area;
  CU(cuMemAllocAsync(&area.at, bytes, nullptr));
  CU(cuStreamSynchronize(nullptr));
  area.bytes = bytes;
  area.free = [at = area.at] {
    CU(cuMemFreeAsync(at, nullptr));
    CU(cuStreamSynchronize(nullptr));
  };
  return area;
}

inline Area exportable_pool(size_t bytes) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, rank % devices};
  CUmemoryPool pool = nullptr;
  Area area;
  CU(cuMemPoolCreate(&pool, &properties));
  CU(cuMemAllocFromPoolAsync(&area.at, bytes, pool, nullptr));
  CU(cuStreamSynchronize(nullptr));
  area.bytes = bytes;
  area.free = [at = area.at, pool] {
    CU(cuMemFreeAsync(at, nullptr));
    CU(cuStreamSynchronize(nullptr));
    CU(cuMemPoolDestroy(pool));
  };
  return area;
}

/// `parts` handles in one range of addresses, as PyTorch's expandable segments are; the even ones
/// with a file descriptor to share, the odd ones as `odd` says.
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
    CU(cuMemRelease(handle));  // the mapping keeps it
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

struct Allocator {
  const char* name;
  Area (*make)(size_t bytes);
};
inline constexpr auto kFd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
inline constexpr auto kNone = CU_MEM_HANDLE_TYPE_NONE;
inline const Allocator kAllocators[] = {
    {"cudaMalloc", plain},
    {"managed", managed},
    {"default pool", default_pool},
    {"exportable pool", exportable_pool},
    {"cuMemCreate", [](size_t bytes) { return mapped(bytes, 1, kFd, kFd); }},
    {"cuMemCreate, not exportable", [](size_t bytes) { return mapped(bytes, 1, kNone, kNone); }},
    {"several mappings", [](size_t bytes) { return mapped(bytes, 3, kFd, kFd); }},
    {"several mappings, one not exportable",
     [](size_t bytes) { return mapped(bytes, 3, kFd, kNone); }},
};

}  // namespace tern::test
