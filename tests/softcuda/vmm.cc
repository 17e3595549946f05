// SPDX-License-Identifier: Apache-2.0
// Virtual memory: physical memory, reservations, mappings, access rights.
#include <string.h>
#include <unistd.h>

#include <map>

#include "config.hpp"
#include "memory.hpp"
#include "stream.hpp"
#include "vmm.hpp"

namespace softcuda {
namespace {

/// Mappings keep the memory alive.
struct Physical {
  StoragePtr storage;
  unsigned long long types = 0;
  int references = 1;
};
std::map<CUmemGenericAllocationHandle, Physical>& physicals() {
  static auto& made = *new std::map<CUmemGenericAllocationHandle, Physical>;
  return made;
}
std::map<uintptr_t, size_t>& reservations() {
  static auto& made = *new std::map<uintptr_t, size_t>;
  return made;
}

struct FabricWords {
  uint64_t magic;
  int32_t pid;
  int32_t fd;
  uint64_t inode;
};
constexpr uint64_t kFabric = 0x6361'6672'6966'0001;

// The caller holds table_mutex.
CUmemGenericAllocationHandle add(StoragePtr storage, unsigned long long types) {
  static CUmemGenericAllocationHandle next = 0x1000;
  physicals()[++next] = {std::move(storage), types, 1};
  ++live("handles");
  return next;
}

bool is_reserved(uintptr_t address, size_t bytes) {
  if (bytes == 0 || address % kGranule != 0 || bytes % kGranule != 0) return false;
  std::lock_guard lock(table_mutex());
  auto found = reservations().upper_bound(address);
  if (found == reservations().begin()) return false;
  --found;
  return address + bytes <= found->first + found->second;
}

/// Any allocation in a page, because small ones do not fill the pages.
std::optional<Allocation> allocation_around(uintptr_t page, size_t bytes) {
  constexpr size_t kStep = 512;
  for (size_t at = 0; at < bytes; at += kStep)
    if (std::optional<Allocation> found = find_allocation(page + at)) return found;
  return std::nullopt;
}

// for_mappings() fails unless mappings fill the range exactly.
CUresult for_mappings(uintptr_t address, size_t bytes,
                      const std::function<void(const Allocation&)>& each) {
  std::vector<Allocation> parts;
  for (uintptr_t at = address; at < address + bytes;) {
    const std::optional<Allocation> here = find_allocation(at);
    if (!here || here->kind != Kind::kMapped || here->base != at ||
        at + here->bytes > address + bytes)
      return CUDA_ERROR_INVALID_VALUE;
    parts.push_back(*here);
    at += here->bytes;
  }
  for (const Allocation& part : parts) each(part);
  return CUDA_SUCCESS;
}

CUresult check(const CUmemAllocationProp& prop) {
  constexpr unsigned kTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC;
  if (prop.type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      prop.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      (static_cast<unsigned>(prop.requestedHandleTypes) & ~kTypes))
    return CUDA_ERROR_INVALID_VALUE;
  if (physical_of(prop.location.id) < 0) return CUDA_ERROR_INVALID_DEVICE;
  // The attribute claims support, but no channel exists.
  if ((prop.requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC) && config().fabric == Fabric::kOff)
    return CUDA_ERROR_NOT_PERMITTED;
  return CUDA_SUCCESS;
}

}  // namespace

CUmemGenericAllocationHandle add_handle(StoragePtr storage, unsigned long long types) {
  std::lock_guard lock(table_mutex());
  return add(std::move(storage), types);
}

StoragePtr storage_of(CUmemGenericAllocationHandle handle) {
  std::lock_guard lock(table_mutex());
  const auto found = physicals().find(handle);
  return found == physicals().end() ? nullptr : found->second.storage;
}

std::pair<uintptr_t, size_t> range_of(const Allocation& here) {
  if (here.kind != Kind::kMapped) return {here.base, here.bytes};
  std::lock_guard lock(table_mutex());
  const auto after = reservations().upper_bound(here.base);
  return *std::prev(after);
}

}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags option) {
  SOFTCUDA_ENTER(kDriver, option);
  if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE || physical_of(prop->location.id) < 0)
    return CUDA_ERROR_INVALID_VALUE;
  *granularity = kGranule;
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* prop, unsigned long long flags) {
  SOFTCUDA_ENTER(kDriver | kUncaptured, size, flags);
  if (flags != 0 || size == 0 || size % kGranule != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult refused = check(*prop)) return refused;
  wait_as_it_may();
  StoragePtr storage = make_storage(physical_of(prop->location.id), size);
  if (!storage) return CUDA_ERROR_OUT_OF_MEMORY;
  storage->rdma = prop->allocFlags.gpuDirectRDMACapable != 0;
  std::lock_guard lock(table_mutex());
  *handle = add(std::move(storage), static_cast<unsigned long long>(prop->requestedHandleTypes));
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  SOFTCUDA_ENTER(kDriver | kUncaptured, handle);
  std::lock_guard lock(table_mutex());
  const auto found = physicals().find(handle);
  if (found == physicals().end()) return CUDA_ERROR_INVALID_VALUE;
  if (--found->second.references > 0) return CUDA_SUCCESS;
  physicals().erase(found);
  --live("handles");
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags) {
  SOFTCUDA_ENTER(kDriver, size, alignment, addr, flags);
  if (size == 0 || size % kGranule != 0 || (alignment & (alignment - 1)) != 0 || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const uintptr_t address = take_addresses(size, alignment > kGranule ? alignment : kGranule);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  std::lock_guard lock(table_mutex());
  reservations()[address] = size;
  *ptr = address;
  ++live("reservations");
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  SOFTCUDA_ENTER(kDriver, ptr, size);
  {
    std::lock_guard lock(table_mutex());
    const auto found = reservations().find(ptr);
    if (found == reservations().end() || found->second != size) return CUDA_ERROR_INVALID_VALUE;
    reservations().erase(found);
  }
  give_addresses(ptr, size);
  --live("reservations");
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  SOFTCUDA_ENTER(kDriver | kUncaptured, ptr, size, offset, handle, flags);
  Physical physical;
  {
    std::lock_guard lock(table_mutex());
    const auto found = physicals().find(handle);
    if (found == physicals().end()) return CUDA_ERROR_INVALID_VALUE;
    physical = found->second;
  }
  const bool multicast = physical.storage->multicast;
  if (flags != 0 || offset != 0 || (!multicast && size != physical.storage->bytes) ||
      !is_reserved(ptr, size))
    return CUDA_ERROR_INVALID_VALUE;
  for (uintptr_t at = ptr; at < ptr + size; at += kGranule)
    if (find_allocation(at)) return CUDA_ERROR_ALREADY_MAPPED;
  if (!multicast && !back(ptr, *physical.storage, 0, size)) return CUDA_ERROR_MAP_FAILED;
  enter_allocation({.kind = Kind::kMapped,
                    .base = ptr,
                    .bytes = size,
                    .physical = physical.storage->physical,
                    .storage = physical.storage,
                    .handle_types = physical.types,
                    .handle = handle});
  ++live("mappings");
  return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  SOFTCUDA_ENTER(kDriver | kUncaptured, ptr, size);
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::optional<Allocation> first = find_allocation(ptr);
  if (!first) return CUDA_ERROR_INVALID_VALUE;
  wait_for_device(first->physical);
  return for_mappings(ptr, size, [](const Allocation& part) {
    remove_allocation(part.base, Kind::kMapped);
    unback(part.base, part.bytes);
    --live("mappings");
  });
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
  SOFTCUDA_ENTER(kDriver | kUncaptured, ptr, size, count);
  const std::optional<Allocation> first = find_allocation(ptr);
  if (!first || first->kind != Kind::kMapped) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    const int physical = physical_of(desc[i].location.id);
    if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || physical < 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (link_between(physical, first->physical) == Link::kNone) return CUDA_ERROR_INVALID_DEVICE;
  }
  return for_mappings(ptr, size, [&](const Allocation& part) {
    change_allocation(part.base, [&](Allocation& here) {
      for (size_t i = 0; i < count; ++i)
        here.access[physical_of(desc[i].location.id)] = desc[i].flags;
    });
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  SOFTCUDA_ENTER(kDriver, addr);
  const std::optional<Allocation> found = find_allocation(reinterpret_cast<uintptr_t>(addr));
  if (!found || found->kind != Kind::kMapped) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(table_mutex());
  const auto known = physicals().find(found->handle);
  if (known != physicals().end()) {
    ++known->second.references;
    *handle = known->first;
    return CUDA_SUCCESS;
  }
  // Programs release the handle after mapping.
  *handle = add(found->storage, found->handle_types);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                CUmemGenericAllocationHandle handle) {
  SOFTCUDA_ENTER(kDriver, handle);
  std::lock_guard lock(table_mutex());
  const auto found = physicals().find(handle);
  if (found == physicals().end()) return CUDA_ERROR_INVALID_VALUE;
  memset(prop, 0, sizeof *prop);
  prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop->requestedHandleTypes = static_cast<CUmemAllocationHandleType>(found->second.types);
  prop->location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal_of(found->second.storage->physical)};
  return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void* shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType,
                                      unsigned long long flags) {
  SOFTCUDA_ENTER(kDriver, handle, handleType, flags);
  std::lock_guard lock(table_mutex());
  const auto found = physicals().find(handle);
  if (found == physicals().end() || flags != 0 || !(found->second.types & handleType))
    return CUDA_ERROR_INVALID_VALUE;
  const Storage& storage = *found->second.storage;
  if (handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    const int fd = dup(storage.fd);
    if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    memcpy(shareableHandle, &fd, sizeof fd);
    return CUDA_SUCCESS;
  }
  const FabricWords fabric{kFabric, getpid(), storage.fd, storage.inode};
  memset(shareableHandle, 0, sizeof(CUmemFabricHandle));
  memcpy(shareableHandle, &fabric, sizeof fabric);
  return CUDA_SUCCESS;
}

// The caller keeps the descriptor.
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                        CUmemAllocationHandleType shHandleType) {
  SOFTCUDA_ENTER(kDriver | kUncaptured, shHandleType);
  int fd = -1;
  if (shHandleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    fd = dup(static_cast<int>(reinterpret_cast<intptr_t>(osHandle)));
  } else if (shHandleType == CU_MEM_HANDLE_TYPE_FABRIC) {
    if (config().fabric != Fabric::kOn) return CUDA_ERROR_NOT_PERMITTED;
    FabricWords fabric;
    memcpy(&fabric, osHandle, sizeof fabric);
    if (fabric.magic == kFabric) fd = open_of_process(fabric.pid, fabric.fd, fabric.inode);
  }
  StoragePtr storage = adopt_storage(fd);
  if (!storage) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(table_mutex());
  *handle = add(std::move(storage), shHandleType);
  return CUDA_SUCCESS;
}

// Whole pages of one allocation's storage, which small allocations share.
CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr dptr, size_t size,
                                       CUmemRangeHandleType handleType, unsigned long long flags) {
  SOFTCUDA_ENTER(kDriver, dptr, size, handleType, flags);
  constexpr size_t kPage = 4096;
  if (config().rdma == Rdma::kOff) return CUDA_ERROR_NOT_SUPPORTED;
  const std::optional<Allocation> first = allocation_around(dptr, kPage);
  const std::optional<Allocation> last = allocation_around(dptr + size - kPage, kPage);
  if (handleType != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags != 0 || dptr % kPage != 0 ||
      size == 0 || size % kPage != 0 || !first || !last || !first->on_device() ||
      first->storage == nullptr || first->storage != last->storage || !first->storage->rdma)
    return CUDA_ERROR_INVALID_VALUE;
  const int fd = dup(first->storage->fd);
  memcpy(handle, &fd, sizeof fd);
  return fd < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

}  // extern "C"
