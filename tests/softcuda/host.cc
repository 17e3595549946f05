// SPDX-License-Identifier: Apache-2.0
// Host memory: pinned, registered, managed.
#include <sys/mman.h>

#include "config.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace softcuda {
namespace {

size_t in_pages(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

CUresult make(Kind kind, size_t bytes, void** address) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* got =
      mmap(nullptr, in_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  wait_as_it_may();
  const CUcontext context = current_context();
  enter_allocation({.kind = kind,
                    .base = reinterpret_cast<uintptr_t>(got),
                    .bytes = bytes,
                    .context = context,
                    .physical = context->physical,
                    .storage = nullptr});
  *address = got;
  ++live(kind == Kind::kManaged ? "allocations" : "host");
  return CUDA_SUCCESS;
}

CUresult unmake(Kind kind, uintptr_t address) {
  const std::optional<Allocation> found = find_allocation(address);
  if (!found || found->base != address || found->kind != kind) return CUDA_ERROR_INVALID_VALUE;
  wait_for_device(found->physical);
  if (!remove_allocation(address, kind)) return CUDA_ERROR_INVALID_VALUE;
  munmap(reinterpret_cast<void*>(address), in_pages(found->bytes));
  --live(kind == Kind::kManaged ? "allocations" : "host");
  return CUDA_SUCCESS;
}

}  // namespace

CUresult free_managed(uintptr_t address) { return unmake(Kind::kManaged, address); }

}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned Flags) {
  SOFTCUDA_ENTER(kUncaptured, bytesize, Flags);
  return make(Kind::kHost, bytesize, pp);
}

CUresult cuMemAllocHost_v2(void** pp, size_t bytesize) {
  SOFTCUDA_ENTER(kUncaptured, bytesize);
  return make(Kind::kHost, bytesize, pp);
}

CUresult cuMemFreeHost(void* p) {
  SOFTCUDA_ENTER(kUncaptured, p);
  return unmake(Kind::kHost, reinterpret_cast<uintptr_t>(p));
}

CUresult cuMemHostRegister_v2(void* p, size_t bytesize, unsigned Flags) {
  SOFTCUDA_ENTER(kUncaptured, p, bytesize, Flags);
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (p == nullptr || bytesize == 0 || is_device_address(address)) return CUDA_ERROR_INVALID_VALUE;
  if (find_allocation(address) || find_allocation(address + bytesize - 1))
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  wait_as_it_may();
  const CUcontext context = current_context();
  enter_allocation({.kind = Kind::kRegistered,
                    .base = address,
                    .bytes = bytesize,
                    .context = context,
                    .physical = context->physical,
                    .storage = nullptr});
  ++live("host");
  return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void* p) {
  SOFTCUDA_ENTER(kUncaptured, p);
  const auto address = reinterpret_cast<uintptr_t>(p);
  const std::optional<Allocation> found = find_allocation(address);
  if (!found || found->base != address || found->kind != Kind::kRegistered)
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  wait_for_device(found->physical);
  if (!remove_allocation(address, Kind::kRegistered)) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  --live("host");
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* pdptr, void* p, unsigned Flags) {
  SOFTCUDA_ENTER(kContext, p, Flags);
  const std::optional<Allocation> found = find_allocation(reinterpret_cast<uintptr_t>(p));
  if (Flags != 0 || !found || found->on_device()) return CUDA_ERROR_INVALID_VALUE;
  *pdptr = reinterpret_cast<CUdeviceptr>(p);
  return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned flags) {
  SOFTCUDA_ENTER(kUncaptured, bytesize, flags);
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  void* got = nullptr;
  const CUresult result = make(Kind::kManaged, bytesize, &got);
  *dptr = reinterpret_cast<CUdeviceptr>(got);
  return result;
}

}  // extern "C"
