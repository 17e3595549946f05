// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation, from default and exportable pools.
#include "pool.hpp"

#include <string.h>
#include <unistd.h>

#include <set>

#include "config.hpp"
#include "stream.hpp"

namespace softcuda {
namespace {

constexpr uint64_t kPointer = 0x6361'6c6f'6f70'0001;

struct Exported {
  uint64_t magic;
  int32_t pid;
  int32_t fd;
  uint64_t inode;
  uint64_t pool;
  uint64_t bytes;
};
static_assert(sizeof(Exported) <= sizeof(CUmemPoolPtrExportData));

std::set<CUmemoryPool>& pools() {
  static auto& made = *new std::set<CUmemoryPool>;
  return made;
}

// The caller holds table_mutex.
CUmemoryPool default_pool(int physical) {
  static auto& made = *new std::map<int, CUmemoryPool>;
  CUmemoryPool& pool = made[physical];
  if (pool == nullptr) {
    pool = make_for_ever<CUmemPoolHandle_st>();
    pool->physical = physical;
    pool->is_default = true;
    pools().insert(pool);
  }
  return pool;
}

std::map<int, CUmemoryPool>& current_pools() {
  static auto& made = *new std::map<int, CUmemoryPool>;
  return made;
}

bool is_pool(CUmemoryPool pool) {
  std::lock_guard lock(table_mutex());
  return pools().count(pool) != 0;
}

Allocation part_of(CUmemoryPool pool, StoragePtr storage, uintptr_t address, size_t bytes) {
  Allocation made{.kind = pool->imported ? Kind::kPoolImport : Kind::kPool,
                  .base = address,
                  .bytes = bytes,
                  .physical = pool->physical,
                  .storage = std::move(storage),
                  .handle_types = pool->types,
                  .pool = pool};
  return made;
}

CUresult allocate(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream handle) {
  CUstream stream;
  if (const CUresult refused = find_stream(handle, &stream)) return refused;
  if (bytes == 0 || pool->imported) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;  // captures have no memory
                                                   // nodes
  StoragePtr storage = make_storage(pool->physical, bytes);
  const uintptr_t taken = storage ? take_addresses(bytes) : 0;
  if (taken == 0 || !back(taken, *storage, 0, storage->bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  poison(taken, bytes);
  *address = taken;
  enter_allocation(part_of(pool, std::move(storage), taken, bytes));
  ++live("allocations");
  live("bytes") += static_cast<int64_t>(bytes);
  return submit(stream, [] { return CUDA_SUCCESS; });
}

void release(uintptr_t address) {
  std::optional<Allocation> gone = remove_allocation(address, Kind::kPool);
  if (gone) {
    poison(gone->base, gone->bytes);
    live("bytes") -= static_cast<int64_t>(gone->bytes);
    --live("allocations");
  } else {
    gone = remove_allocation(address, Kind::kPoolImport);
    if (!gone) return;
    --live("imports");
  }
  unback(gone->base, gone->storage->bytes);
  give_addresses(gone->base, gone->storage->bytes);
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  SOFTCUDA_ENTER(kDriver, poolProps->handleTypes, poolProps->location.id);
  const int physical = physical_of(poolProps->location.id);
  if (poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE || physical < 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (poolProps->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_NOT_SUPPORTED;
  auto* made = make_for_ever<CUmemPoolHandle_st>();
  made->physical = physical;
  made->types = static_cast<unsigned long long>(poolProps->handleTypes);
  if (made->types != 0) made->card = make_storage(physical, 4096);
  std::lock_guard lock(table_mutex());
  pools().insert(made);
  *pool = made;
  ++live("pools");
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  SOFTCUDA_ENTER(kDriver, pool);
  std::lock_guard lock(table_mutex());
  if (pools().count(pool) == 0 || pool->is_default) return CUDA_ERROR_INVALID_VALUE;
  pools().erase(pool);
  std::erase_if(current_pools(), [&](const auto& entry) { return entry.second == pool; });
  pool->card = nullptr;
  --live("pools");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
  SOFTCUDA_ENTER(kDriver, dev);
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  std::lock_guard lock(table_mutex());
  *pool_out = default_pool(physical_of(dev));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
  SOFTCUDA_ENTER(kDriver, dev);
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  std::lock_guard lock(table_mutex());
  const auto chosen = current_pools().find(physical_of(dev));
  *pool = chosen != current_pools().end() ? chosen->second : default_pool(physical_of(dev));
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  SOFTCUDA_ENTER(kDriver, dev, pool);
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  if (!is_pool(pool) || pool->physical != physical_of(dev)) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(table_mutex());
  current_pools()[physical_of(dev)] = pool;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  SOFTCUDA_ENTER(kDriver, pool, count);
  if (!is_pool(pool)) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(table_mutex());
  for (size_t i = 0; i < count; ++i) {
    const int physical = physical_of(map[i].location.id);
    if (physical < 0 || link_between(physical, pool->physical) == Link::kNone)
      return CUDA_ERROR_INVALID_DEVICE;
    pool->access[physical] = map[i].flags;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  SOFTCUDA_ENTER(kDriver, pool, attr);
  if (!is_pool(pool)) return CUDA_ERROR_INVALID_VALUE;
  if (attr < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    const int on = 1;
    memcpy(value, &on, sizeof on);
    return CUDA_SUCCESS;
  }
  const uint64_t number = attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? pool->threshold : 0;
  memcpy(value, &number, sizeof number);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  SOFTCUDA_ENTER(kDriver, pool, attr);
  if (!is_pool(pool)) return CUDA_ERROR_INVALID_VALUE;
  if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) memcpy(&pool->threshold, value, sizeof(uint64_t));
  return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  SOFTCUDA_ENTER(kContext, bytesize, hStream);
  CUstream stream;
  if (const CUresult refused = find_stream(hStream, &stream)) return refused;
  CUmemoryPool pool = nullptr;
  if (const CUresult none = cuDeviceGetMemPool(&pool, stream->context->ordinal)) return none;
  return allocate(dptr, bytesize, pool, hStream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                 CUstream hStream) {
  SOFTCUDA_ENTER(kContext, bytesize, pool, hStream);
  if (!is_pool(pool)) return CUDA_ERROR_INVALID_VALUE;
  return allocate(dptr, bytesize, pool, hStream);
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  SOFTCUDA_ENTER(kContext, dptr, hStream);
  CUstream stream;
  if (const CUresult refused = find_stream(hStream, &stream)) return refused;
  const std::optional<Allocation> found = find_allocation(dptr);
  if (!found || found->base != dptr ||
      (found->kind != Kind::kPool && found->kind != Kind::kPoolImport))
    return CUDA_ERROR_INVALID_VALUE;
  return submit(stream, [dptr] {
    release(dptr);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolExportToShareableHandle(void* handle_out, CUmemoryPool pool,
                                          CUmemAllocationHandleType handleType,
                                          unsigned long long flags) {
  SOFTCUDA_ENTER(kDriver, pool, handleType, flags);
  if (!is_pool(pool) || pool->imported || !(pool->types & handleType) || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const int fd = dup(pool->card->fd);
  if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  memcpy(handle_out, &fd, sizeof fd);
  return CUDA_SUCCESS;
}

// The caller keeps the descriptor.
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool_out, void* handle,
                                            CUmemAllocationHandleType handleType,
                                            unsigned long long flags) {
  SOFTCUDA_ENTER(kDriver, handleType, flags);
  if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
  StoragePtr card = adopt_storage(dup(static_cast<int>(reinterpret_cast<intptr_t>(handle))));
  if (!card) return CUDA_ERROR_INVALID_VALUE;
  auto* made = make_for_ever<CUmemPoolHandle_st>();
  made->physical = card->physical;
  made->imported = true;
  made->card = std::move(card);
  std::lock_guard lock(table_mutex());
  pools().insert(made);
  *pool_out = made;
  ++live("pools");
  return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* shareData_out, CUdeviceptr ptr) {
  SOFTCUDA_ENTER(kDriver, ptr);
  const std::optional<Allocation> found = find_allocation(ptr);
  if (!found || found->kind != Kind::kPool || !found->pool->card) return CUDA_ERROR_INVALID_VALUE;
  const Exported out{
      kPointer,    getpid(), found->storage->fd, found->storage->inode, found->pool->card->inode,
      found->bytes};
  memset(shareData_out, 0, sizeof *shareData_out);
  memcpy(shareData_out, &out, sizeof out);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(CUdeviceptr* ptr_out, CUmemoryPool pool,
                                CUmemPoolPtrExportData* shareData) {
  SOFTCUDA_ENTER(kDriver | kUncaptured, pool);
  Exported in;
  memcpy(&in, shareData, sizeof in);
  if (!is_pool(pool) || !pool->imported || in.magic != kPointer || in.pool != pool->card->inode)
    return CUDA_ERROR_INVALID_VALUE;
  if (in.pid == getpid()) return CUDA_ERROR_INVALID_VALUE;
  StoragePtr storage = adopt_storage(open_of_process(in.pid, in.fd, in.inode));
  const uintptr_t address = storage ? take_addresses(storage->bytes) : 0;
  if (address == 0 || !back(address, *storage, 0, storage->bytes)) return CUDA_ERROR_INVALID_VALUE;
  *ptr_out = address;
  enter_allocation(part_of(pool, std::move(storage), address, in.bytes));
  ++live("imports");
  return CUDA_SUCCESS;
}

}  // extern "C"
