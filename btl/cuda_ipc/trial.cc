// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/trial.hpp"

#include <sched.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/pattern.hpp"
#include "cuda/memory.hpp"

namespace tern::btl::cuda_ipc {

std::vector<uint64_t> trial_pattern(uint64_t ledger) {
  return pattern_of(ledger | 1, kTrialBytes / sizeof(uint64_t));
}

TrialCopy::TrialCopy(cuda::Device& device, bool spare) : job_(device) {
  aside_ = spare ? cuda::Loan(device, cuda::Store::kDevice, kTrialBytes)
                 : cuda::Loan(job_, cuda::Store::kDevice, kTrialBytes);
  pinned_ = spare ? cuda::Loan(device, cuda::Store::kPinned, kTrialBytes)
                  : cuda::Loan(job_, cuda::Store::kPinned, kTrialBytes);
}

void TrialCopy::write(void* block, const std::vector<uint64_t>& pattern) noexcept {
  std::memcpy(pinned_.data(), pattern.data(), kTrialBytes);
  job_.copy_mapped(block, pinned_.data(), kTrialBytes);
}

void TrialCopy::read(const void* block) noexcept {
  job_.copy_mapped(aside_.data(), block, kTrialBytes);
  job_.copy_mapped(pinned_.data(), aside_.data(), kTrialBytes);
}

bool TrialCopy::ends_soon() noexcept {
  constexpr int64_t kSoon = 20'000'000;  // ns
  if (timeout_ == 0) timeout_ = now_ns() + kSoon;
  for (; !job_.done(); ::sched_yield()) {
    if (now_ns() >= timeout_ && turns_ == 0) return false;
    if (turns_ > 0) --turns_;
  }
  return true;
}

bool TrialCopy::has(const std::vector<uint64_t>& pattern) const noexcept {
  return std::memcmp(pinned_.data(), pattern.data(), kTrialBytes) == 0;
}

void Trials::list(cuda::Device& device, Ledger& ledger) noexcept {
  constexpr int kMostTries = 64;
  try {
    auto known = std::find_if(all_.begin(), all_.end(),
                              [&](const TrialBlock& one) { return one.device == device.uuid; });
    if (known == all_.end())
      known = all_.insert(all_.end(), TrialBlock{device.uuid, &device.driver, device.context});
    if (known->at != 0) return;
    settle(ledger, &*known);
    if (known->at != 0 || known->filling != nullptr || known->tries >= kMostTries) return;
    ++known->tries;
    if (!device.is_quiet()) return;
    begin(device, ledger.number(), &*known);
    settle(ledger, &*known);
  } catch (const std::bad_alloc&) {
    return;
  }
}

void Trials::look_after(Ledger& ledger) noexcept {
  for (TrialBlock& one : all_) settle(ledger, &one);
}

void Trials::begin(cuda::Device& device, uint64_t ledger, TrialBlock* block) {
  constexpr size_t kAlone = 2 << 20;  // drivers may map 2 MiB as a whole
  const auto pattern = trial_pattern(ledger);
  const cuda::Current current(device);
  auto filling = std::make_unique<TrialCopy>(device, false);
  if (!filling->ready()) return;
  size_t bytes = kAlone;
  CUresult error = current.result();
  std::byte* const at = device.blocks.acquire(cuda::Store::kDevice, &bytes, &error);
  if (at == nullptr) return;
  filling->write(at, pattern);
  block->context = device.context;
  block->fills = &device;
  block->filled = at;
  block->filled_bytes = bytes;
  block->filling = std::move(filling);
}

void Trials::settle(Ledger& ledger, TrialBlock* block) noexcept {
  if (block->filling == nullptr) return;
  const bool gone = block->fills->gone();
  if (!gone && !block->filling->ends_soon()) return;
  const bool filled = !gone && !block->filling->failed();
  block->filling = nullptr;
  if (gone || (filled && enter(ledger, block))) return;
  block->fills->blocks.release(cuda::Store::kDevice, block->filled, block->filled_bytes);
  block->tries = INT_MAX;
}

bool Trials::enter(Ledger& ledger, TrialBlock* block) noexcept {
  const cuda::Device& device = *block->fills;
  const cuda::Current current(device);
  const cuda::Memory memory = cuda::look_up(block->filled);
  CUipcMemHandle named{};
  if (!memory.legacy_ipc || device.driver.cuIpcGetMemHandle(
                                &named, static_cast<CUdeviceptr>(memory.base)) != CUDA_SUCCESS)
    return false;
  Row row{};
  row.forms = Row::kLegacy;
  row.buffer_id = memory.buffer_id;
  row.base = memory.base;
  row.bytes = memory.bytes;
  static_assert(sizeof named == sizeof row.handle && sizeof device.uuid == sizeof row.device);
  std::memcpy(row.handle, &named, sizeof named);
  std::memcpy(row.device, &device.uuid, sizeof row.device);
  if (!ledger.list_trial(row)) return false;
  block->at = static_cast<CUdeviceptr>(memory.base);
  block->buffer_id = memory.buffer_id;
  return true;
}

void Trials::drop_unlisted() noexcept {
  for (TrialBlock& one : all_) {
    if (one.filling == nullptr) continue;
    if (cuda::driver() == nullptr) {
      (void)one.filling.release();  // a process without a driver: no call
      continue;
    }
    one.filling = nullptr;
    one.fills->blocks.release(cuda::Store::kDevice, one.filled, one.filled_bytes);
  }
}

void Trials::end() noexcept {
  for (const TrialBlock& one : all_) {
    if (one.at == 0 || cuda::driver() == nullptr) continue;
    const cuda::Current current(*one.driver, one.context);
    if (current.result() == CUDA_SUCCESS &&
        cuda::look_up(reinterpret_cast<const void*>(one.at)).buffer_id == one.buffer_id)
      (void)one.driver->cuMemFree_v2(one.at);
  }
  all_.clear();
}

}  // namespace tern::btl::cuda_ipc
