// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/opened.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace tern::btl::cuda_ipc {

Opened& Opened::instance() noexcept {
  static Opened& all = *new Opened;
  return all;
}

CUdeviceptr Opened::open(const MemoryHandle& handle, cuda::Device& device, Failure* failure) {
  constexpr std::chrono::seconds kLongest{1};  // a close may wait for a kernel
  CUipcMemHandle words;
  std::memcpy(&words, handle.driver_handle, sizeof words);
  std::unique_lock<std::mutex> lock(mutex_);
  One* known = find(handle, device);
  if (known == nullptr) {
    closed_.wait_for(lock, kLongest, [&] { return !closes_block_of(handle, device); });
    known = find(handle, device);
  }
  if (known != nullptr) {
    ++known->users;
    return known->here;
  }
  std::list<One> fresh{
      {&device, handle.process, handle.base, handle.bytes, handle.buffer_id, 0, 1, 0}};
  CUdeviceptr& here = fresh.front().here;
  const CUresult result =
      device.driver.cuIpcOpenMemHandle_v2(&here, words, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (result != CUDA_SUCCESS) {
    *failure = failure_of("cuIpcOpenMemHandle", result);
    return 0;
  }
  if (is_anothers(here, handle, device)) {
    *failure = {"the driver returned the address of another allocation"};
    return 0;
  }
  all_.splice(all_.end(), fresh);
  return here;
}

bool Opened::close(const cuda::Device& device, uint64_t base, uint64_t buffer_id,
                   CUdeviceptr here) noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto one = std::find_if(all_.begin(), all_.end(), [&](const One& open) {
    return open.users > 0 && open.device == &device && open.here == here && open.base == base &&
           open.buffer_id == buffer_id;
  });
  if (one == all_.end()) return false;
  if (--one->users > 0) return true;
  lock.unlock();
  bool is_closed = device.gone();
  if (!is_closed) {
    const cuda::Current current(device);
    is_closed = device.driver.cuIpcCloseMemHandle(here) == CUDA_SUCCESS;
  }
  lock.lock();
  close_aliases(*one);
  all_.erase(one);
  closed_.notify_all();
  return is_closed;
}

// A driver that counts per address keeps the memory mapped until all aliases are closed; other
// drivers refuse the extra closes. Newer openings at the address stay open.
void Opened::close_aliases(const One& closed) noexcept {
  const bool is_taken = std::any_of(all_.begin(), all_.end(), [&](const One& one) {
    return &one != &closed && one.device == closed.device && one.here == closed.here;
  });
  if (is_taken || closed.aliases == 0 || closed.device->gone()) return;
  const cuda::Current current(*closed.device);
  for (int left = closed.aliases; left > 0; --left)
    if (closed.device->driver.cuIpcCloseMemHandle(closed.here) != CUDA_SUCCESS) return;
}

Opened::One* Opened::find(const MemoryHandle& handle, const cuda::Device& device) noexcept {
  for (One& one : all_)
    if (one.users > 0 && one.device == &device && one.process == handle.process &&
        one.base == handle.base && one.bytes == handle.bytes && one.buffer_id == handle.buffer_id)
      return &one;
  return nullptr;
}

// Drivers take small allocations from blocks of 2 MiB.
bool Opened::closes_block_of(const MemoryHandle& handle, const cuda::Device& device) noexcept {
  constexpr uint64_t kBlock = 2 << 20;
  return std::any_of(all_.begin(), all_.end(), [&](const One& one) {
    return one.users == 0 && one.device == &device && one.process == handle.process &&
           one.base / kBlock <= (handle.base + handle.bytes - 1) / kBlock &&
           handle.base / kBlock <= (one.base + one.bytes - 1) / kBlock;
  });
}

// An alias is closed with the first allocation, because a driver without alias counts would unmap
// that allocation at once. During a close, the address may be free already, so only allocations of
// the same 2 MiB count as aliases.
bool Opened::is_anothers(CUdeviceptr here, const MemoryHandle& handle,
                         const cuda::Device& device) noexcept {
  const bool closes_block = closes_block_of(handle, device);
  for (One& one : all_) {
    if (one.device != &device || one.process != handle.process || one.here != here ||
        one.base == handle.base || (one.users == 0 && !closes_block))
      continue;
    ++one.aliases;
    return true;
  }
  return false;
}

}  // namespace tern::btl::cuda_ipc
