// SPDX-License-Identifier: Apache-2.0
// IPC handles: process, descriptor, and the descriptor's inode.
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>

#include "config.hpp"
#include "event.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace softcuda {
namespace {

constexpr uint32_t kMemory = 0x6d736674, kEvent = 0x65736674;
constexpr unsigned kSlots = 1024;

struct Handle {
  uint32_t magic;
  int32_t pid;
  int32_t fd;
  int32_t physical;
  uint64_t inode;
  uint64_t offset;
  uint64_t bytes;
  uint64_t id;
};
static_assert(sizeof(Handle) <= sizeof(CUipcMemHandle));

template <class Opaque>
void seal(Opaque* opaque, const Handle& handle) {
  memset(opaque, 0, sizeof *opaque);
  memcpy(opaque, &handle, sizeof handle);
}

// unseal() refuses handles of this process.
template <class Opaque>
CUresult unseal(const Opaque& opaque, uint32_t magic, Handle* handle) {
  memcpy(handle, &opaque, sizeof *handle);
  if (handle->magic != magic) return CUDA_ERROR_INVALID_VALUE;
  return handle->pid == getpid() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

struct Mapping {
  uintptr_t address = 0;
  StoragePtr storage;
  std::vector<uint64_t> open = {};  // offsets, once per handle, oldest first
};
using Key = std::pair<uint64_t, CUcontext>;
std::map<Key, Mapping>& mappings() {
  static auto& made = *new std::map<Key, Mapping>;
  return made;
}
std::mutex& import_mutex() {
  static auto& made = *new std::mutex;
  return made;
}

// Real drivers answer with either of the last two. The caller holds import_mutex.
Reopen answer_for(const Mapping& mapping) {
  if (mapping.open.empty()) return Reopen::kItself;
  if (config().reopen != Reopen::kRandom) return config().reopen;
  return random_below(2) == 0 ? Reopen::kFirst : Reopen::kNothing;
}

// gives_another() models a driver that confuses two allocations: the driver returns the other's
// address and counts no handle.
bool gives_another(const Mapping& mapping, const Handle& open, CUdeviceptr* address) {
  if (std::find(mapping.open.begin(), mapping.open.end(), open.offset) != mapping.open.end())
    return false;
  *address = mapping.address + mapping.open.front();
  change_allocation(
      *address, [&](Allocation& here) { here.bytes = std::max<size_t>(here.bytes, open.bytes); });
  return true;
}

// The caller holds import_mutex.
CUresult map_storage(const Handle& handle, CUcontext context, Mapping** mapping) {
  Mapping& here = mappings()[{handle.inode, context}];
  if (here.open.empty()) {
    StoragePtr storage = adopt_storage(open_of_process(handle.pid, handle.fd, handle.inode));
    const uintptr_t address = storage ? take_addresses(storage->bytes) : 0;
    if (address == 0 || !back(address, *storage, 0, storage->bytes)) {
      mappings().erase({handle.inode, context});
      return storage ? CUDA_ERROR_MAP_FAILED : CUDA_ERROR_INVALID_VALUE;
    }
    if (link_between(context->physical, handle.physical) == Link::kLies)
      forget_storage(address, storage->bytes);
    here = {address, std::move(storage)};
    ++live("imports");
  }
  *mapping = &here;
  return CUDA_SUCCESS;
}

void unmap_storage(const Allocation& gone) {
  const Key key{gone.storage->inode, gone.context};
  Mapping& here = mappings().at(key);
  here.open.erase(std::find(here.open.begin(), here.open.end(), gone.offset));
  if (!here.open.empty()) return;
  unback(here.address, here.storage->bytes);
  give_addresses(here.address, here.storage->bytes);
  mappings().erase(key);
  --live("imports");
}

SharedEvent* map_events(int fd) {
  void* at = mmap(nullptr, kSlots * 64, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<SharedEvent*>(at);
}

SharedEvent* slot_of(SharedEvent* first, unsigned index) {
  return reinterpret_cast<SharedEvent*>(reinterpret_cast<char*>(first) + size_t{index} * 64);
}

}  // namespace

SharedEvent* take_shared_event(int* fd, ino_t* inode, unsigned* index) {
  static std::mutex& mutex = *new std::mutex;
  static SharedEvent* first = nullptr;
  static int file = -1;
  static unsigned next = kSlots;
  static struct stat about;
  std::lock_guard lock(mutex);
  if (next == kSlots) {
    file = memfd_create("softcuda events", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, kSlots * 64) != 0 || fstat(file, &about) != 0)
      give_up("no memory for events");
    first = map_events(file);
    next = 0;
  }
  *fd = file;
  *inode = about.st_ino;
  *index = next++;
  return slot_of(first, *index);
}

SharedEvent* map_shared_event(pid_t pid, int fd, ino_t inode, unsigned index) {
  static std::mutex& mutex = *new std::mutex;
  static auto& mapped = *new std::map<ino_t, SharedEvent*>;
  std::lock_guard lock(mutex);
  const auto known = mapped.find(inode);
  if (known != mapped.end()) return slot_of(known->second, index);
  const int opened = open_of_process(pid, fd, inode);
  if (opened < 0) return nullptr;
  SharedEvent* first = map_events(opened);
  close(opened);
  if (first == nullptr) return nullptr;
  mapped[inode] = first;
  return slot_of(first, index);
}

}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuIpcGetMemHandle(CUipcMemHandle* pHandle, CUdeviceptr dptr) {
  SOFTCUDA_ENTER(kContext, dptr);
  const std::optional<Allocation> found = find_allocation(dptr);
  if (!found || found->kind != Kind::kDevice) return CUDA_ERROR_INVALID_VALUE;
  seal(pHandle, Handle{kMemory, getpid(), found->storage->fd, found->physical,
                       found->storage->inode, found->offset, found->bytes, found->id});
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned Flags) {
  SOFTCUDA_ENTER(kUncaptured, Flags);
  Handle open;
  if (Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult refused = unseal(handle, kMemory, &open)) return refused;
  const CUcontext context = current_context();
  if (link_between(context->physical, open.physical) == Link::kNone)
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  std::lock_guard lock(import_mutex());
  Mapping* mapping = nullptr;
  if (const CUresult failed = map_storage(open, context, &mapping)) return failed;
  const Reopen answer = answer_for(*mapping);
  if (answer == Reopen::kNothing) return CUDA_ERROR_ALREADY_MAPPED;
  if (answer == Reopen::kFirst && gives_another(*mapping, open, pdptr)) return CUDA_SUCCESS;
  mapping->open.push_back(open.offset);
  const uintptr_t base = mapping->address + open.offset;
  *pdptr = base;
  bool known = false;
  change_allocation(base, [&](Allocation& here) {
    known = here.kind == Kind::kImport && here.base == base;
    if (!known) return;
    ++here.opened;
    here.bytes = std::max<size_t>(here.bytes, open.bytes);
  });
  if (!known)
    enter_allocation({.kind = Kind::kImport,
                      .base = base,
                      .bytes = open.bytes,
                      .context = context,
                      .physical = open.physical,
                      .storage = mapping->storage,
                      .offset = open.offset,
                      .opened = 1});
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr dptr) {
  SOFTCUDA_ENTER(kUncaptured, dptr);
  const std::optional<Allocation> found = find_allocation(dptr);
  if (!found || found->base != dptr || found->kind != Kind::kImport)
    return CUDA_ERROR_INVALID_VALUE;
  wait_for_device(found->context->physical);
  std::lock_guard lock(import_mutex());
  int left = 0;
  change_allocation(dptr, [&](Allocation& here) { left = --here.opened; });
  if (left == 0) remove_allocation(dptr, Kind::kImport);
  unmap_storage(*found);
  return CUDA_SUCCESS;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle* pHandle, CUevent event) {
  SOFTCUDA_ENTER(kContext, event);
  const CUevent found = find_event(event);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (found->shared == nullptr || found->adopted) return CUDA_ERROR_INVALID_HANDLE;
  seal(pHandle, Handle{kEvent, getpid(), found->fd, found->context->physical, found->inode,
                       found->index, 0, 0});
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent* phEvent, CUipcEventHandle handle) {
  SOFTCUDA_ENTER(kUncaptured);
  Handle open;
  if (const CUresult refused = unseal(handle, kEvent, &open)) return refused;
  SharedEvent* shared =
      map_shared_event(open.pid, open.fd, open.inode, static_cast<unsigned>(open.offset));
  if (shared == nullptr) return CUDA_ERROR_MAP_FAILED;
  *phEvent = adopt_event(current_context(), shared);
  return CUDA_SUCCESS;
}

}  // extern "C"
