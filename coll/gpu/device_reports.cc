// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/device_reports.hpp"

#include <new>

namespace tern::coll {
namespace {

using cuda::KernelReport;

template <class Word>
Word get(Word& word) noexcept {
  return std::atomic_ref<Word>(word).load(std::memory_order_relaxed);
}

}  // namespace

std::string DeviceReports::make() {
  const cuda::Current current(device_);
  CUresult result = CUDA_SUCCESS;
  bytes_ = sizeof(Pinned);
  std::byte* const memory = device_.blocks.acquire(cuda::Store::kPinned, &bytes_, &result);
  if (memory == nullptr) return "no pinned memory: " + cuda::words_of("cuMemHostAlloc", result);
  pinned_ = new (memory) Pinned;
  result = device_.driver.cuMemHostGetDevicePointer_v2(&at_, memory, 0);
  return result == CUDA_SUCCESS ? std::string()
                                : cuda::words_of("cuMemHostGetDevicePointer", result);
}

void DeviceReports::give_back() noexcept {
  if (pinned_ != nullptr)
    device_.blocks.release(cuda::Store::kPinned, reinterpret_cast<std::byte*>(pinned_), bytes_);
  pinned_ = nullptr;
}

uint32_t DeviceReports::wait_of_stream() const noexcept {
  if (pinned_ == nullptr) return 0;
  for (const std::atomic<uint32_t>& one : pinned_->waits)
    if (const uint32_t wait = one.load(std::memory_order_acquire); wait != 0) return wait;
  return 0;
}

std::optional<DeviceReports::Kernel> DeviceReports::waiting() const noexcept {
  return find(KernelReport::kWaits);
}

std::optional<DeviceReports::Kernel> DeviceReports::given_up() const noexcept {
  const auto late = find(KernelReport::kLate);
  return late ? late : find(KernelReport::kTold);
}

std::optional<DeviceReports::Kernel> DeviceReports::find(uint32_t state) const noexcept {
  for (int part = 0; part < ScratchLayout::kReports && pinned_ != nullptr; ++part) {
    KernelReport& one = pinned_->kernels[part];
    if (std::atomic_ref<uint32_t>(one.state).load(std::memory_order_acquire) != state) continue;
    return Kernel{part,
                  {state, get(one.number), get(one.peer), get(one.message), get(one.step),
                   get(one.call), get(one.pass), 0}};
  }
  return std::nullopt;
}

void DeviceReports::clear() noexcept {
  for (KernelReport& one : pinned_->kernels) one = {};
}

void DeviceReports::end_kernels() noexcept {
  if (pinned_ == nullptr) return;
  for (KernelReport& one : pinned_->kernels)
    std::atomic_ref<uint64_t>(one.let_go).store(1, std::memory_order_release);
}

}  // namespace tern::coll
