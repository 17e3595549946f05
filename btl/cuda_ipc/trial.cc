// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/trial.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/pattern.hpp"
#include "cuda/memory.hpp"

namespace tern::btl::cuda_ipc {

std::vector<uint64_t> trial_pattern(uint64_t ledger) {
  return pattern_of(ledger | 1, kTrialBytes / sizeof(uint64_t));
}

bool Trials::fill(cuda::Device& device, CUdeviceptr at, uint64_t ledger) {
  const auto pattern = trial_pattern(ledger);
  cuda::Job job(device);
  job.copy(reinterpret_cast<void*>(at), pattern.data(), kTrialBytes);
  while (!job.done()) ::sched_yield();
  return !job.failed();
}

void Trials::list(cuda::Device& device, Ledger& ledger) noexcept {
  constexpr int kMostTries = 64;
  constexpr size_t kAlone = 2 << 20;  // a driver may map what lies in 2 MiB as one
  try {
    auto known = std::find_if(all_.begin(), all_.end(),
                              [&](const Block& one) { return one.device == device.uuid; });
    if (known == all_.end())
      known = all_.insert(all_.end(), {device.uuid, &device.driver, device.context});
    if (known->at != 0 || known->tries >= kMostTries) return;
    ++known->tries;
    if (!device.is_quiet()) return;
    const cuda::Current current(device);
    size_t bytes = kAlone;
    CUresult error = current.result();
    std::byte* const block = device.acquire(cuda::Device::Store::kDevice, &bytes, &error);
    if (block == nullptr) return;
    const auto at = reinterpret_cast<CUdeviceptr>(block);
    const cuda::Memory memory = cuda::look_up(block);
    CUipcMemHandle named{};
    const bool serves = memory.legacy_ipc && fill(device, at, ledger.number()) &&
                        device.driver.cuIpcGetMemHandle(&named, at) == CUDA_SUCCESS;
    Row row{};
    row.forms = Row::kLegacy;
    row.buffer_id = memory.buffer_id;
    row.base = memory.base;
    row.bytes = memory.bytes;
    static_assert(sizeof named == sizeof row.handle && sizeof device.uuid == sizeof row.device);
    std::memcpy(row.handle, &named, sizeof named);
    std::memcpy(row.device, &device.uuid, sizeof row.device);
    if (!serves || !ledger.list_trial(row)) {
      device.release(cuda::Device::Store::kDevice, block, bytes);
      known->tries = kMostTries;
      return;
    }
    known->at = at;  // the device, which may end before, does not get it back
    known->context = device.context;
    known->buffer_id = memory.buffer_id;
  } catch (const std::bad_alloc&) {
    return;
  }
}

// An ended context has no block any more.
void Trials::end() noexcept {
  for (const Block& one : all_) {
    if (one.at == 0 || cuda::driver() == nullptr) continue;
    const cuda::Current current(*one.driver, one.context);
    if (current.result() == CUDA_SUCCESS &&
        cuda::look_up(reinterpret_cast<const void*>(one.at)).buffer_id == one.buffer_id)
      (void)one.driver->cuMemFree_v2(one.at);
  }
  all_.clear();
}

}  // namespace tern::btl::cuda_ipc
