// SPDX-License-Identifier: Apache-2.0
// Multicast objects: creation, joining, binding, memory of members.
#include "multicast.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <thread>
#include <tuple>

#include "config.hpp"
#include "memory.hpp"
#include "stream.hpp"
#include "vmm.hpp"

namespace softcuda {
namespace {

constexpr unsigned kMostDevices = 8;

struct Binding {
  std::atomic<uint32_t> there{0};
  int physical;
  pid_t pid;
  int fd;
  ino_t inode;
  size_t at, offset, bytes;  // at: in the object; offset: in memory
};

/// Members is the first page of the object's file.
struct Members {
  std::atomic<uint32_t> devices{0};
  std::atomic<uint32_t> added{0};
  size_t bytes;
  Binding bindings[kMostDevices];
};
static_assert(sizeof(Members) <= 4096);

Members* members_of(const Storage& object) {
  static auto& mutex = *new std::mutex;
  static auto& mapped = *new std::map<ino_t, Members*>;
  std::lock_guard lock(mutex);
  Members*& members = mapped[object.inode];
  if (members == nullptr) {
    void* const at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, object.fd, 0);
    if (at == MAP_FAILED) give_up("a multicast object cannot be mapped");
    members = static_cast<Members*>(at);
  }
  return members;
}

char* memory_of(const Binding& binding) {
  static auto& mutex = *new std::mutex;
  static auto& mapped = *new std::map<ino_t, std::pair<StoragePtr, char*>>;
  std::lock_guard lock(mutex);
  auto& [storage, bytes] = mapped[binding.inode];
  if (bytes == nullptr) {
    storage = adopt_storage(open_of_process(binding.pid, binding.fd, binding.inode));
    if (!storage) give_up("the memory bound to a multicast object is gone");
    void* const at =
        mmap(nullptr, storage->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, storage->fd, 0);
    if (at == MAP_FAILED) give_up("memory of a multicast object cannot be mapped");
    bytes = static_cast<char*>(at);
  }
  return bytes;
}

// hold() keeps bound memory alive. Null unbinds.
void hold(ino_t object, const Binding& binding, const StoragePtr& memory) {
  static auto& mutex = *new std::mutex;
  static auto& held = *new std::map<std::tuple<ino_t, int, size_t>, StoragePtr>;
  std::lock_guard lock(mutex);
  const std::tuple<ino_t, int, size_t> key{object, binding.physical, binding.at};
  if (memory)
    held[key] = memory;
  else
    held.erase(key);
}

// wait_for_all() has no timeout, like the real driver.
void wait_for_all(const Members& members) {
  Patience patience;
  while (static_cast<unsigned>(__builtin_popcount(members.added)) < members.devices) {
    patience.ask([&] {
      return "a multicast object of " + std::to_string(members.devices) + " devices has " +
             std::to_string(__builtin_popcount(members.added)) + " (cuMulticastAddDevice)";
    });
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

CUresult bind_memory(const StoragePtr& object, size_t at, const StoragePtr& memory, size_t offset,
                     size_t bytes) {
  if (!object || !object->multicast || !memory || memory->multicast)
    return CUDA_ERROR_INVALID_VALUE;
  Members& members = *members_of(*object);
  if (at % kGranule != 0 || offset % kGranule != 0 || bytes % kGranule != 0 || bytes == 0 ||
      at + bytes > members.bytes || offset + bytes > memory->bytes ||
      !(members.added >> memory->physical & 1U))
    return CUDA_ERROR_INVALID_VALUE;
  wait_for_all(members);
  for (Binding& one : members.bindings) {
    uint32_t empty = 0;
    if (!one.there.compare_exchange_strong(empty, 1)) continue;
    one.physical = memory->physical;
    one.pid = getpid();
    one.fd = memory->fd;
    one.inode = memory->inode;
    one.at = at;
    one.offset = offset;
    one.bytes = bytes;
    hold(object->inode, one, memory);
    one.there = 2;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

bool supports_multicast() { return config().multicast && !config().mig; }

StoragePtr make_multicast(unsigned devices, size_t bytes) {
  if (devices == 0 || devices > kMostDevices) return nullptr;
  StoragePtr object = make_object();
  if (!object) return nullptr;
  Members& members = *members_of(*object);
  members.devices = devices;
  members.bytes = bytes;
  return object;
}

int copies_behind(const void* bytes, void** copies, int most) {
  const uintptr_t address = address_of_bytes(bytes);
  const std::optional<Allocation> there = find_allocation(address);
  if (!there || !there->storage || !there->storage->multicast) return 0;
  const size_t offset = address - there->base;
  int count = 0;
  for (const Binding& one : members_of(*there->storage)->bindings)
    if (one.there == 2 && offset - one.at < one.bytes && count < most)
      copies[count++] = memory_of(one) + one.offset + (offset - one.at);
  return count;
}

}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuMulticastGetGranularity(size_t* granularity, const CUmulticastObjectProp* prop,
                                   CUmulticastGranularity_flags option) {
  SOFTCUDA_ENTER(kDriver, prop->numDevices, option);
  *granularity = kGranule;
  return supports_multicast() ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle* mcHandle,
                           const CUmulticastObjectProp* prop) {
  SOFTCUDA_ENTER(kDriver | kUncaptured, prop->numDevices, prop->size);
  if (!supports_multicast()) return CUDA_ERROR_NOT_SUPPORTED;
  if (prop->size == 0 || prop->size % kGranule != 0 || prop->flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  StoragePtr object = make_multicast(prop->numDevices, prop->size);
  if (!object) return CUDA_ERROR_INVALID_VALUE;
  *mcHandle = add_handle(std::move(object), prop->handleTypes);
  return CUDA_SUCCESS;
}

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle mcHandle, CUdevice dev) {
  SOFTCUDA_ENTER(kDriver | kUncaptured, mcHandle, dev);
  const StoragePtr object = storage_of(mcHandle);
  if (!object || !object->multicast) return CUDA_ERROR_INVALID_VALUE;
  if (physical_of(dev) < 0) return CUDA_ERROR_INVALID_DEVICE;
  Members& members = *members_of(*object);
  const uint32_t mine = 1U << physical_of(dev);
  const uint32_t before = members.added;
  if ((before & mine) || static_cast<unsigned>(__builtin_popcount(before)) == members.devices)
    return CUDA_ERROR_INVALID_VALUE;
  members.added |= mine;
  return CUDA_SUCCESS;
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                            CUmemGenericAllocationHandle memHandle, size_t memOffset, size_t size,
                            unsigned long long flags) {
  SOFTCUDA_ENTER(kDriver | kUncaptured, mcHandle, mcOffset, memHandle, memOffset, size, flags);
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return bind_memory(storage_of(mcHandle), mcOffset, storage_of(memHandle), memOffset, size);
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                             CUdeviceptr memptr, size_t size, unsigned long long flags) {
  SOFTCUDA_ENTER(kDriver | kUncaptured, mcHandle, mcOffset, memptr, size, flags);
  const std::optional<Allocation> memory = find_allocation(memptr);
  if (flags != 0 || !memory || memory->kind != Kind::kMapped) return CUDA_ERROR_INVALID_VALUE;
  return bind_memory(storage_of(mcHandle), mcOffset, memory->storage, memptr - memory->base, size);
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset,
                           size_t size) {
  SOFTCUDA_ENTER(kDriver | kUncaptured, mcHandle, dev, mcOffset, size);
  const StoragePtr object = storage_of(mcHandle);
  if (!object || !object->multicast || physical_of(dev) < 0) return CUDA_ERROR_INVALID_VALUE;
  for (Binding& one : members_of(*object)->bindings)
    if (one.there == 2 && one.physical == physical_of(dev) && one.at == mcOffset &&
        one.bytes == size) {
      hold(object->inode, one, nullptr);
      one.there = 0;
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // extern "C"
