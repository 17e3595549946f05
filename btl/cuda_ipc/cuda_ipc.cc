// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/cuda_ipc.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "cuda/mapping.hpp"

namespace tern::btl::cuda_ipc {
namespace {

class Use final : public Reached {
 public:
  Use(Import& import, uint64_t offset) noexcept : import_(import) {
    ++import_.uses;
    address = reinterpret_cast<std::byte*>(import.base + offset);
  }
  ~Use() override { --import_.uses; }

 private:
  Import& import_;
};

/// A descriptor of another process of the same user.
Fd descriptor_of(int pid, int descriptor) noexcept {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) return {};
  return Fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), descriptor, 0)));
}

}  // namespace

CudaIpc::~CudaIpc() {
  for (const Import& import : imports_) unmap(import);
}

std::unique_ptr<Reached> CudaIpc::reach(const MemoryCard& card, cuda::Device& device) {
  if (card.form == MemoryCard::Form::kNone || card.address < card.base ||
      card.address - card.base >= card.bytes) {
    why_not_ = "its owner could not share it";
    return nullptr;
  }
  if (refused(card, device)) return nullptr;
  Import* import = find(card, device);
  if (import == nullptr) import = open(card, device);
  if (import == nullptr) return nullptr;
  return std::make_unique<Use>(*import, card.address - card.base);
}

// What lies where other memory was is proof that this is no more: its mapping goes.
Import* CudaIpc::find(const MemoryCard& card, const cuda::Device& device) noexcept {
  for (auto at = imports_.begin(); at != imports_.end();) {
    const MemoryCard& known = at->card;
    const bool apart = known.pid != card.pid || known.base >= card.base + card.bytes ||
                       card.base >= known.base + known.bytes;
    if (apart || at->device != &device) {
      ++at;
    } else if (known.buffer_id == card.buffer_id && known.base == card.base &&
               known.bytes == card.bytes) {
      imports_.splice(imports_.begin(), imports_, at);
      return &imports_.front();
    } else if (at->uses != 0) {
      ++at;
    } else {
      unmap(*at);
      bytes_ -= known.bytes;
      at = imports_.erase(at);
    }
  }
  return nullptr;
}

bool CudaIpc::refused(const MemoryCard& card, const cuda::Device& device) const noexcept {
  return std::any_of(refused_.begin(), refused_.end(), [&](const Refused& one) {
    return one.pid == card.pid && one.form == card.form && one.device == card.device &&
           one.by == &device;
  });
}

Import* CudaIpc::open(const MemoryCard& card, cuda::Device& device) {
  make_room(card.bytes);
  imports_.push_front({card, &device, 0, 0});
  const cuda::Current current(device);
  const CUresult result = map(card, device, &imports_.front().base);
  if (result != CUDA_SUCCESS) {
    imports_.pop_front();
    if (result == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)
      refused_.push_back({card.pid, card.form, card.device, &device});
    return nullptr;
  }
  bytes_ += card.bytes;
  return &imports_.front();
}

CUresult CudaIpc::map(const MemoryCard& card, const cuda::Device& device, CUdeviceptr* base) {
  if (card.form == MemoryCard::Form::kDescriptor) return map_descriptor(card, device, base);
  CUipcMemHandle handle;
  std::memcpy(&handle, card.handle, sizeof handle);
  const CUresult result =
      device.driver.cuIpcOpenMemHandle_v2(base, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (result != CUDA_SUCCESS) why_not_ = cuda::words_of("cuIpcOpenMemHandle", result);
  return result;
}

CUresult CudaIpc::map_descriptor(const MemoryCard& card, const cuda::Device& device,
                                 CUdeviceptr* base) {
  const Fd descriptor = descriptor_of(card.pid, card.descriptor);
  if (!descriptor.valid()) {
    why_not_ =
        strf("its descriptor cannot be taken from process %d: %s", card.pid, std::strerror(errno));
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  const cuda::Driver& driver = device.driver;
  if (!cuda::can_map(driver) || driver.cuMemImportFromShareableHandle == nullptr) {
    why_not_ = "the driver is too old to map what others share";
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  CUmemGenericAllocationHandle handle = 0;
  CUresult result = driver.cuMemImportFromShareableHandle(
      &handle, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor.get())),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  const char* function = "cuMemImportFromShareableHandle";
  if (result == CUDA_SUCCESS) {
    result = cuda::map(driver, handle, card.bytes, 0, device.ordinal, base, &function);
    (void)driver.cuMemRelease(handle);  // the mapping keeps it
  }
  if (result != CUDA_SUCCESS) why_not_ = cuda::words_of(function, result);
  return result;
}

void CudaIpc::make_room(size_t bytes) noexcept {
  for (auto at = imports_.end(); at != imports_.begin() && bytes_ + bytes > most_bytes_;) {
    --at;
    if (at->uses != 0) continue;
    unmap(*at);
    bytes_ -= at->card.bytes;
    at = imports_.erase(at);
  }
}

void CudaIpc::unmap(const Import& import) noexcept {
  if (import.device->gone()) return;
  const cuda::Current current(*import.device);
  const cuda::Driver& driver = import.device->driver;
  if (import.card.form == MemoryCard::Form::kLegacy) {
    (void)driver.cuIpcCloseMemHandle(import.base);
    return;
  }
  (void)cuda::unmap(driver, import.base, import.card.bytes);
}

}  // namespace tern::btl::cuda_ipc
