// SPDX-License-Identifier: Apache-2.0
// Registers allocations by address, because a freeing call names no kind.
#include "api/device_memory.hpp"

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "base/error.hpp"
#include "cuda/device.hpp"
#include "cuda/exportable.hpp"
#include "mpi.h"

namespace tern::api {
namespace {

using cuda::Driver;

struct Allocation {
  DeviceKind kind = DeviceKind::kDevice;
  CUdeviceptr address = 0;
  size_t bytes = 0;
  CUcontext context = nullptr;
  bool mapped = false;
};

struct Registry {
  std::mutex mutex;
  std::unordered_map<void*, Allocation> allocations;
  std::atomic<size_t> count{0};
};
/// The registry is never destroyed, because programs may free in static destructors.
Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

DeviceResult refused(const char* function, CUresult result) {
  return {result == CUDA_ERROR_OUT_OF_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_OTHER,
          cuda::words_of(function, result)};
}

#define TERN_TRY(driver, function, ...)                              \
  do {                                                               \
    const CUresult result_ = (driver).function(__VA_ARGS__);         \
    if (result_ != CUDA_SUCCESS) return refused(#function, result_); \
  } while (0)

DeviceResult take(const Driver& driver, size_t alignment, Allocation* made) {
  TERN_TRY(driver, cuCtxGetCurrent, &made->context);
  if (made->context == nullptr)
    return {MPI_ERR_OTHER,
            "no CUDA context is current on this thread; choose a device "
            "(cudaSetDevice, cuCtxSetCurrent) before"};
  if (made->kind == DeviceKind::kHost) {
    void* host = nullptr;
    TERN_TRY(driver, cuMemHostAlloc, &host, made->bytes, CU_MEMHOSTALLOC_PORTABLE);
    made->address = reinterpret_cast<CUdeviceptr>(host);
  } else if (made->kind == DeviceKind::kManaged) {
    TERN_TRY(driver, cuMemAllocManaged, &made->address, made->bytes, CU_MEM_ATTACH_GLOBAL);
  } else {
    cuda::Exportable shared;
    const char* function = nullptr;
    const CUresult result =
        cuda::allocate_exportable(driver, made->bytes, alignment, &shared, &function);
    if (result != CUDA_SUCCESS) return refused(function, result);
    made->address = shared.address;
    made->bytes = shared.bytes;
    made->mapped = shared.mapped;
  }
  return {};
}

CUresult give(const Driver& driver, const Allocation& old) noexcept {
  const cuda::Current current(driver, old.context);
  if (current.result() != CUDA_SUCCESS) return current.result();
  if (old.kind == DeviceKind::kHost)
    return driver.cuMemFreeHost(reinterpret_cast<void*>(old.address));
  if (old.kind == DeviceKind::kManaged) return driver.cuMemFree_v2(old.address);
  return cuda::free_exportable(driver, {old.address, old.bytes, old.mapped});
}

}  // namespace

bool device_kind(std::string_view word, DeviceKind* kind) noexcept {
  if (word != "device" && word != "host" && word != "managed") return false;
  *kind = word == "device" ? DeviceKind::kDevice
          : word == "host" ? DeviceKind::kHost
                           : DeviceKind::kManaged;
  return true;
}

DeviceResult take_device_memory(DeviceKind kind, size_t bytes, size_t alignment, void** memory) {
  const Driver* const driver = cuda::driver();
  if (driver == nullptr)
    return {MPI_ERR_OTHER, "no CUDA driver is usable in this process: " + cuda::driver_in_words()};
  Allocation made;
  made.kind = kind;
  made.bytes = bytes;
  if (DeviceResult failed = take(*driver, alignment, &made); failed.error_class != MPI_SUCCESS)
    return failed;
  *memory = reinterpret_cast<void*>(made.address);
  if (made.address % alignment != 0) {
    (void)give(*driver, made);
    return {MPI_ERR_NO_MEM, strf("the driver has none aligned to %zu", alignment)};
  }
  Registry& all = registry();
  const std::lock_guard<std::mutex> guard(all.mutex);
  all.allocations[*memory] = made;
  all.count.fetch_add(1, std::memory_order_relaxed);
  return {};
}

DeviceResult free_device_memory(void* memory) noexcept {
  Registry& all = registry();
  DeviceResult not_mine{MPI_SUCCESS, "", true};
  if (all.count.load(std::memory_order_relaxed) == 0) return not_mine;
  Allocation old;
  {
    const std::lock_guard<std::mutex> guard(all.mutex);
    const auto found = all.allocations.find(memory);
    if (found == all.allocations.end()) return not_mine;
    old = found->second;
    all.allocations.erase(found);
    all.count.fetch_sub(1, std::memory_order_relaxed);
  }
  const Driver* const driver = cuda::driver();
  if (driver == nullptr) return {};
  const CUresult result = give(*driver, old);
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED ||
      result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_INVALID_CONTEXT)
    return {};
  return {MPI_ERR_OTHER,
          strf("device memory at %p: %s", memory, cuda::words_of("freeing it", result).c_str())};
}

}  // namespace tern::api
