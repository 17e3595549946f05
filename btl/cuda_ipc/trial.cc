// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/trial.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/pattern.hpp"
#include "cuda/memory.hpp"

namespace tern::btl::cuda_ipc {

std::vector<uint64_t> trial_pattern(uint64_t ledger) {
  return pattern_of(ledger | 1, kTrialBytes / sizeof(uint64_t));
}

TrialCopy::TrialCopy(cuda::Device& device) : job_(device) {
  pinned_ = cuda::Pinned(job_, kTrialBytes);
}

void TrialCopy::write(void* block, const std::vector<uint64_t>& pattern) noexcept {
  if (!pinned_.valid()) return;
  std::memcpy(pinned_.data(), pattern.data(), kTrialBytes);
  job_.copy_mapped(block, pinned_.data(), kTrialBytes);
}

void TrialCopy::read(const void* block) noexcept {
  aside_ = cuda::Block(job_, kTrialBytes);
  if (!pinned_.valid() || !aside_.valid()) return;
  job_.copy_mapped(aside_.data(), block, kTrialBytes);
  job_.copy_mapped(pinned_.data(), aside_.data(), kTrialBytes);
}

bool TrialCopy::ends_soon() noexcept {
  constexpr int64_t kSoon = 20'000'000;  // ns
  if (patience_ == 0) patience_ = now_ns() + kSoon;
  for (; !job_.done(); ::sched_yield())
    if (now_ns() >= patience_) return false;
  return true;
}

bool TrialCopy::has(const std::vector<uint64_t>& pattern) const noexcept {
  return std::memcmp(pinned_.data(), pattern.data(), kTrialBytes) == 0;
}

void Trials::list(cuda::Device& device, Ledger& ledger) noexcept {
  constexpr int kMostTries = 64;
  try {
    auto known = std::find_if(all_.begin(), all_.end(),
                              [&](const Block& one) { return one.device == device.uuid; });
    if (known == all_.end())
      known = all_.insert(all_.end(), Block{device.uuid, &device.driver, device.context});
    if (known->at != 0) return;
    if (known->filling == nullptr) {
      if (known->tries >= kMostTries) return;
      ++known->tries;
      if (!device.is_quiet()) return;
      begin(device, ledger.number(), &*known);
    }
    if (known->filling == nullptr || !known->filling->ends_soon()) return;
    enter(device, ledger, &*known);
    if (known->at == 0) known->tries = kMostTries;
  } catch (const std::bad_alloc&) {
    return;
  }
}

void Trials::begin(cuda::Device& device, uint64_t ledger, Block* block) {
  size_t bytes = 2 << 20;  // a driver may map what lies in so much as one
  const cuda::Current current(device);
  auto filling = std::make_unique<TrialCopy>(device);
  CUresult error = current.result();
  std::byte* const at = device.acquire(cuda::Device::Store::kDevice, &bytes, &error);
  if (at == nullptr) return;
  filling->write(at, trial_pattern(ledger));
  block->filled = reinterpret_cast<CUdeviceptr>(at);
  block->filling = std::move(filling);
  block->context = device.context;
}

void Trials::enter(cuda::Device& device, Ledger& ledger, Block* block) noexcept {
  const bool filled = !block->filling->failed();
  block->filling = nullptr;
  const cuda::Current current(device);
  auto* const at = reinterpret_cast<std::byte*>(std::exchange(block->filled, 0));
  const cuda::Memory memory = cuda::look_up(at);
  CUipcMemHandle named{};
  Row row{};
  row.forms = Row::kLegacy;
  row.buffer_id = memory.buffer_id;
  row.base = memory.base;
  row.bytes = memory.bytes;
  static_assert(sizeof named == sizeof row.handle && sizeof device.uuid == sizeof row.device);
  std::memcpy(row.device, &device.uuid, sizeof row.device);
  bool serves = filled && memory.legacy_ipc && block->context == device.context &&
                device.driver.cuIpcGetMemHandle(&named, static_cast<CUdeviceptr>(memory.base)) ==
                    CUDA_SUCCESS;
  std::memcpy(row.handle, &named, sizeof named);
  serves = serves && ledger.list_trial(row);
  if (!serves) {  // it is no memory any more where the context has ended
    if (memory.base == reinterpret_cast<uintptr_t>(at))
      device.release(cuda::Device::Store::kDevice, at, memory.bytes);
    return;
  }
  block->at =
      reinterpret_cast<CUdeviceptr>(at);  // the device, which may end before, has it no more
  block->buffer_id = memory.buffer_id;
}

void Trials::drop_unlisted() noexcept {
  for (Block& one : all_) {
    if (one.filling == nullptr) continue;
    one.filling = nullptr;
    const cuda::Current current(*one.driver, one.context);
    if (current.result() == CUDA_SUCCESS)
      (void)one.driver->cuMemFree_v2(std::exchange(one.filled, 0));
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
