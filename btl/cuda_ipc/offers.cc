// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/offers.hpp"

#include <unistd.h>

#include <cstring>
#include <iterator>
#include <mutex>
#include <unordered_map>

#include "base/fd.hpp"

namespace tern::btl::cuda_ipc {
namespace {

/// Descriptors of mappings that were exported, by buffer id: made once, kept while others may ask
/// for them. A process has one table of descriptors, whatever ranks it has.
class Exported {
 public:
  static Exported& instance() noexcept {
    static Exported all;
    return all;
  }
  /// -1 where the driver refuses.
  int descriptor_of(cuda::Device& device, const cuda::Memory& memory) noexcept;

 private:
  void drop_freed() noexcept;
  struct Entry {
    Fd descriptor;
    uintptr_t base;
  };
  static constexpr size_t kMost = 1024;
  std::mutex mutex_;
  std::unordered_map<uint64_t, Entry> descriptors_;
};

int Exported::descriptor_of(cuda::Device& device, const cuda::Memory& memory) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (const auto found = descriptors_.find(memory.buffer_id); found != descriptors_.end())
    return found->second.descriptor.get();
  drop_freed();
  if (descriptors_.size() >= kMost) return -1;  // a peer may be about to ask for any of them
  const cuda::Driver& driver = device.driver;
  if (driver.cuMemRetainAllocationHandle == nullptr ||
      driver.cuMemExportToShareableHandle == nullptr)
    return -1;
  CUmemGenericAllocationHandle handle = 0;
  if (driver.cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(memory.base)) !=
      CUDA_SUCCESS)
    return -1;
  int fd = -1;
  const CUresult exported =
      driver.cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  (void)driver.cuMemRelease(handle);
  if (exported != CUDA_SUCCESS) return -1;
  return descriptors_.emplace(memory.buffer_id, Entry{Fd(fd), memory.base})
      .first->second.descriptor.get();
}

// A descriptor keeps the memory that it names.
void Exported::drop_freed() noexcept {
  for (auto at = descriptors_.begin(); at != descriptors_.end();)
    at = cuda::look_up(reinterpret_cast<void*>(at->second.base)).buffer_id == at->first
             ? std::next(at)
             : descriptors_.erase(at);
}

}  // namespace

const char* offer(cuda::Device& device, const cuda::Memory& memory, const void* address,
                  size_t bytes, MemoryCard* card) noexcept {
  *card = {};
  const auto at = reinterpret_cast<uint64_t>(address);
  card->pid = ::getpid();
  card->buffer_id = memory.buffer_id;
  card->base = memory.base;
  card->bytes = memory.bytes;
  card->address = at;
  card->device = device.uuid;
  if (memory.kind == cuda::MemoryKind::kManaged) return "it is managed memory, which has no handle";
  if (at < memory.base || at + bytes > memory.base + memory.bytes)
    return "it spans several mappings";
  const cuda::Current current(device);
  if (memory.legacy_ipc) {
    CUipcMemHandle handle;
    static_assert(sizeof handle == sizeof card->handle);
    if (device.driver.cuIpcGetMemHandle(&handle, static_cast<CUdeviceptr>(memory.base)) !=
        CUDA_SUCCESS)
      return "the driver gives no handle for it (cuIpcGetMemHandle)";
    std::memcpy(card->handle, &handle, sizeof handle);
    card->form = MemoryCard::Form::kLegacy;
    return nullptr;
  }
  if (memory.pooled) return "its pool (cudaMallocAsync) is not exportable; cudaMalloc's memory is";
  card->descriptor = Exported::instance().descriptor_of(device, memory);
  if (card->descriptor < 0)
    return "its mapping (cuMemCreate) was made without "
           "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR";
  card->form = MemoryCard::Form::kDescriptor;
  return nullptr;
}

}  // namespace tern::btl::cuda_ipc
