// SPDX-License-Identifier: Apache-2.0
// cuMemAlloc and cuMemFree. Small allocations share a block, 512 bytes apart.
#include "memory.hpp"

#include <string.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "config.hpp"
#include "pool.hpp"
#include "stream.hpp"

namespace softcuda {
namespace {

constexpr size_t kUnit = 512;
constexpr size_t kSmall = size_t{1} << 20;

std::map<uintptr_t, Allocation>& table() {
  static auto& made = *new std::map<uintptr_t, Allocation>;
  return made;
}

// Small allocations of a context share a Block.
struct Block {
  CUcontext context;
  uintptr_t address;
  StoragePtr storage;
  std::vector<bool> taken = std::vector<bool>(kGranule / kUnit);
};
std::vector<Block>& blocks() {
  static auto& made = *new std::vector<Block>;
  return made;
}

std::map<uintptr_t, Allocation>::iterator at(uintptr_t address) {
  auto found = table().upper_bound(address);
  if (found == table().begin()) return table().end();
  --found;
  return address - found->first < found->second.bytes ? found : table().end();
}

// room_in() returns -1 if the block is full.
long room_in(const Block& block, size_t units) {
  size_t run = 0;
  for (size_t i = 0; i < block.taken.size(); ++i) {
    run = block.taken[i] ? 0 : run + 1;
    if (run == units) return static_cast<long>(i + 1 - units);
  }
  return -1;
}

bool add_block(CUcontext context) {
  StoragePtr storage = make_storage(context->physical, kGranule);
  const uintptr_t address = storage ? take_addresses(kGranule) : 0;
  if (address == 0 || !back(address, *storage, 0, kGranule)) return false;
  std::lock_guard lock(table_mutex());
  blocks().push_back({context, address, std::move(storage)});
  return true;
}

std::optional<Allocation> take_small(CUcontext context, size_t bytes) {
  const size_t units = (bytes + kUnit - 1) / kUnit;
  std::lock_guard lock(table_mutex());
  for (Block& block : blocks()) {
    const long place = block.context == context ? room_in(block, units) : -1;
    if (place < 0) continue;
    const auto first = static_cast<size_t>(place);
    std::fill_n(block.taken.begin() + place, units, true);
    return Allocation{.base = block.address + first * kUnit,
                      .bytes = bytes,
                      .context = context,
                      .physical = context->physical,
                      .storage = block.storage,
                      .offset = first * kUnit};
  }
  return std::nullopt;
}

std::optional<Allocation> take_large(CUcontext context, size_t bytes) {
  StoragePtr storage = make_storage(context->physical, bytes);
  const uintptr_t address = storage ? take_addresses(bytes) : 0;
  if (address == 0 || !back(address, *storage, 0, storage->bytes)) return std::nullopt;
  return Allocation{.base = address,
                    .bytes = bytes,
                    .context = context,
                    .physical = context->physical,
                    .storage = storage};
}

// give_small() frees an empty block. The caller holds table_mutex.
bool give_small(const Allocation& gone) {
  for (auto block = blocks().begin(); block != blocks().end(); ++block) {
    if (block->storage != gone.storage) continue;
    std::fill_n(block->taken.begin() + static_cast<long>(gone.offset / kUnit),
                (gone.bytes + kUnit - 1) / kUnit, false);
    if (std::find(block->taken.begin(), block->taken.end(), true) != block->taken.end())
      return true;
    unback(block->address, kGranule);
    give_addresses(block->address, kGranule);
    blocks().erase(block);
    return true;
  }
  return false;
}

// A pool's memory also belongs to its own device.
bool may_touch(const Allocation& here, int physical) {
  const auto given = [&](const auto& access) {
    const auto found = access.find(physical);
    return found != access.end() && found->second != 0;
  };
  if (here.kind == Kind::kMapped) return !here.storage->multicast && given(here.access);
  if (here.kind != Kind::kPool && here.kind != Kind::kPoolImport) return true;
  return here.physical == physical || given(here.pool->access);
}

void free_device(const Allocation& gone) {
  --live("allocations");
  live("bytes") -= static_cast<int64_t>(gone.bytes);
  poison(gone.base, gone.bytes);
  {
    std::lock_guard lock(table_mutex());
    if (give_small(gone)) return;
  }
  unback(gone.base, gone.storage->bytes);
  give_addresses(gone.base, gone.storage->bytes);
}

}  // namespace

void enter_allocation(Allocation allocation) {
  static std::atomic<uint64_t> next{1};
  allocation.id = next++;
  std::lock_guard lock(table_mutex());
  table()[allocation.base] = std::move(allocation);
}

std::optional<Allocation> find_allocation(uintptr_t address) {
  std::lock_guard lock(table_mutex());
  const auto found = at(address);
  if (found == table().end()) return std::nullopt;
  return found->second;
}

std::optional<Allocation> remove_allocation(uintptr_t base, Kind kind) {
  std::lock_guard lock(table_mutex());
  const auto found = table().find(base);
  if (found == table().end() || found->second.kind != kind) return std::nullopt;
  Allocation gone = std::move(found->second);
  table().erase(found);
  return gone;
}

bool change_allocation(uintptr_t address, const std::function<void(Allocation&)>& change) {
  std::lock_guard lock(table_mutex());
  const auto found = at(address);
  if (found == table().end()) return false;
  change(found->second);
  return true;
}

void free_all_of(CUcontext context) {
  std::vector<Allocation> gone;
  {
    std::lock_guard lock(table_mutex());
    std::erase_if(table(), [&](const auto& entry) {
      const bool mine = entry.second.kind == Kind::kDevice && entry.second.context == context;
      if (mine) gone.push_back(entry.second);
      return mine;
    });
  }
  for (const Allocation& one : gone) free_device(one);
}

CUresult check_range(uintptr_t address, size_t bytes, int physical) {
  if (address == 0) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(table_mutex());
  const uintptr_t end = address + bytes;
  while (address < end) {
    const auto found = at(address);
    if (found == table().end())
      return is_device_address(address) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    const Allocation& here = found->second;
    if (!may_touch(here, physical)) return CUDA_ERROR_INVALID_VALUE;
    address = here.base + here.bytes;
    if (address < end && here.kind != Kind::kMapped)
      return here.on_device() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  return CUDA_SUCCESS;
}

void poison(uintptr_t address, size_t bytes) {
  if (config().poison == 0 || bytes == 0) return;
  const size_t much = std::min(bytes, config().poison);
  memset(behind(address), 0xA5, much);
  if (bytes > much) memset(behind(address + bytes - 64), 0xA5, 64);
}

}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  SOFTCUDA_ENTER(kUncaptured, bytesize);
  if (dptr == nullptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  wait_as_it_may();
  const CUcontext context = current_context();
  std::optional<Allocation> made;
  if (bytesize <= kSmall) {
    made = take_small(context, bytesize);
    if (!made && add_block(context)) made = take_small(context, bytesize);
  } else {
    made = take_large(context, bytesize);
  }
  if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
  poison(made->base, bytesize);
  ++live("allocations");
  live("bytes") += static_cast<int64_t>(bytesize);
  *dptr = made->base;
  enter_allocation(std::move(*made));
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr dptr) {
  SOFTCUDA_ENTER(kUncaptured, dptr);
  if (dptr == 0) return CUDA_SUCCESS;
  const std::optional<Allocation> found = find_allocation(dptr);
  if (!found || found->base != dptr) return CUDA_ERROR_INVALID_VALUE;
  if (found->kind == Kind::kPool) return cuMemFreeAsync(dptr, CU_STREAM_LEGACY);
  if (found->kind == Kind::kManaged) return free_managed(dptr);
  if (found->kind != Kind::kDevice) return CUDA_ERROR_INVALID_VALUE;
  wait_for_device(found->physical);
  const std::optional<Allocation> gone = remove_allocation(dptr, Kind::kDevice);
  if (!gone) return CUDA_ERROR_INVALID_VALUE;
  free_device(*gone);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  SOFTCUDA_ENTER(kContext, dptr);
  const std::optional<Allocation> found = find_allocation(dptr);
  if (!found || found->kind == Kind::kRegistered) return CUDA_ERROR_NOT_FOUND;
  if (pbase != nullptr) *pbase = found->base;
  if (psize != nullptr) *psize = found->bytes;
  return CUDA_SUCCESS;
}

}  // extern "C"
