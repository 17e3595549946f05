// SPDX-License-Identifier: Apache-2.0
#include "cuda/device.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/explain.hpp"
#include "cuda/kernels.hpp"

namespace tern::cuda {
Device::Device(const Driver& with, CUcontext in, int number, const std::string& kernels_file)
    : DeviceContext(with, in),
      ordinal(number),
      events(with),
      late_writes(with),
      streams(with),
      blocks(*this),
      kernels_file_(kernels_file) {
  CUdevice device = 0;
  CUuuid id{};
  if (driver.cuDeviceGet(&device, ordinal) == CUDA_SUCCESS &&
      driver.cuDeviceGetUuid_v2(&id, device) == CUDA_SUCCESS)
    std::memcpy(uuid.bytes, id.bytes, sizeof uuid.bytes);
}

Device::~Device() {
  if (gone() || (streams.empty() && events.empty() && late_writes.empty() && blocks.empty() &&
                 kernels_ == nullptr))
    return;
  const Current current(*this);
  if (current.result() != CUDA_SUCCESS) {
    if (kernels_ != nullptr) kernels_->forget();
    return;
  }
  kernels_.reset();
  streams.destroy();
  events.destroy();
  late_writes.destroy();
  blocks.destroy();
}

namespace {

/// Makes up to `count` objects, then gives all back in reverse order, so that the pool lends the
/// first object first.
template <class What, class Make, class GiveBack>
void make_some(int count, const Make& make, const GiveBack& give_back) noexcept {
  std::array<What, 16> made{};
  int n = 0;
  while (n < count && make(n, &made[static_cast<size_t>(n)])) ++n;
  while (n-- > 0) give_back(made[static_cast<size_t>(n)]);
}

}  // namespace

void Device::prepare(size_t chunk, int chunks) noexcept {
  constexpr size_t kBlock = 2 << 20, kTrial = 65536;
  constexpr int kStreams = 4, kEvents = 8, kMostChunks = 8;
  if (TERN_LIKELY(prepared_.load(std::memory_order_relaxed)) || !is_quiet()) return;
  if (prepared_.exchange(true)) return;
  const Current current(*this);
  (void)kernels();
  CUresult error = current.result();
  make_some<Stream*>(
      kStreams, [&](int, Stream** made) { return (*made = streams.make(&error)) != nullptr; },
      [&](Stream* made) {
        if (!streams.give_back(made)) streams.end(made);
      });
  make_some<std::pair<CUevent, EventName>>(
      kEvents,
      [&](int, auto* made) {
        return (made->first = events.acquire(&made->second, &error)) != nullptr;
      },
      [&](const auto& made) { events.release(made.first, made.second); });
  constexpr Store kStores[] = {Store::kDevice, Store::kDevice, Store::kPinned};
  size_t trial[] = {kBlock, kTrial, kTrial};
  std::byte* trials[3] = {};
  for (size_t i = 0; i < 3; ++i) trials[i] = blocks.acquire(kStores[i], &trial[i], &error);
  for (const Store store : {Store::kPinned, Store::kDevice})
    make_some<std::pair<std::byte*, size_t>>(
        std::min(store == Store::kPinned ? 2 * chunks : chunks, kMostChunks) + 1,
        [&](int i, auto* made) {
          made->second = i > 0 ? chunk : store == Store::kDevice ? kBlock : 0;
          if (made->second == 0) return true;
          return (made->first = blocks.acquire(store, &made->second, &error)) != nullptr;
        },
        [&](const auto& made) {
          if (made.first != nullptr) blocks.release(store, made.first, made.second);
        });
  for (size_t i = 0; i < 3; ++i)
    if (trials[i] != nullptr) blocks.release(kStores[i], trials[i], trial[i]);
}

void Device::forget() noexcept {
  leave();
  if (kernels_ != nullptr) kernels_->forget();
  streams.forget();
  events.forget();
  late_writes.forget();
  blocks.forget();
}

int Device::attribute(CUdevice_attribute which) const noexcept {
  CUdevice handle = 0;
  int value = 0;
  return driver.cuDeviceGet(&handle, ordinal) == CUDA_SUCCESS &&
                 driver.cuDeviceGetAttribute(&value, which, handle) == CUDA_SUCCESS
             ? value
             : 0;
}

Kernels* Device::kernels(std::string* why_not) noexcept {
  const std::lock_guard<std::mutex> guard(kernels_mutex_);
  if (kernels_ == nullptr && no_kernels_.empty() && !gone()) {
    const Current current(*this);
    CUdevice device = 0;
    try {
      if (driver.cuDeviceGet(&device, ordinal) == CUDA_SUCCESS)
        kernels_ = std::make_unique<Kernels>(driver, device, kernels_file_);
      if (kernels_ == nullptr || !kernels_->available())
        no_kernels_ = kernels_ == nullptr ? "the device does not answer" : kernels_->why_not();
    } catch (const std::exception& error) {
      no_kernels_ = error.what();
    }
  }
  if (why_not != nullptr) *why_not = no_kernels_;
  return kernels_ != nullptr && kernels_->available() ? kernels_.get() : nullptr;
}

bool Gpus::is_new(const std::string& text) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (std::find(told_.begin(), told_.end(), text) != told_.end()) return false;
  told_.push_back(text);
  return true;
}

void Gpus::tell_once(const Explain& explain, const std::string& why) noexcept {
  if (is_new(why))
    explain.warn("fallback", {{"what", "reduction on the host"}},
                 "device memory is reduced on the host: " + why);
}

void Gpus::tell_fallback(const Explain& explain, const std::string& what) noexcept {
  if (is_new(what)) explain.warn("fallback", {{"what", "staged device memory"}}, what);
}

void Gpus::tell_choice(const Explain& explain, const std::string& what) noexcept {
  if (is_new(what)) explain.say("collective", {{"algorithm", "on_device"}}, what);
}

void Gpus::release() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  const Driver* const known = driver();
  if (known == nullptr)
    for (auto& device : devices_) device->forget();
  devices_.clear();
  for (const auto& [ordinal, context] : primaries_) {
    CUdevice device = 0;
    if (known != nullptr && known->cuDeviceGet(&device, ordinal) == CUDA_SUCCESS)
      (void)known->cuDevicePrimaryCtxRelease_v2(device);
  }
  primaries_.clear();
}

Residency& Gpus::residency(const Uuid& gpu) {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (auto& [name, one] : residencies_)
    if (name == gpu) return *one;
  return *residencies_.emplace_back(gpu, std::make_unique<Residency>()).second;
}

// Skips preparation if the application's streams may wait for this thread, because allocation may
// wait for those streams.
void Gpus::look_after() noexcept {
  if (enqueues_.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  for (auto& device : devices_)
    if (!device->gone()) {
      device->prepare(chunk_, chunks_);
      device->blocks.make_wanted();
    }
}

Device* Gpus::any() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (auto& device : devices_) {
    if (device->gone()) continue;
    if (TERN_LIKELY(!device->stale())) return device.get();
    device->forget();
  }
  return nullptr;
}

Device* Gpus::device_of(const Memory& memory, std::string* why) noexcept {
  const Driver* const known = driver();
  if (known == nullptr) {
    *why = unusable_driver() == nullptr ? "the CUDA driver is no longer available"
                                        : "the buffer is device memory, but " + driver_in_words();
    return nullptr;
  }
  try {
    const std::lock_guard<std::mutex> guard(mutex_);
    const CUcontext context =
        memory.context != nullptr ? memory.context : primary_of(*known, memory.device, why);
    return context == nullptr ? nullptr : device_in(context, memory);
  } catch (const std::exception& error) {
    *why = error.what();
    return nullptr;
  }
}

// Pools and mapped memory have no context; Tern then retains the device's primary context.
CUcontext Gpus::primary_of(const Driver& known, int ordinal, std::string* why) {
  if (const auto found = primaries_.find(ordinal); found != primaries_.end()) return found->second;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUresult result = known.cuDeviceGet(&device, ordinal);
  if (result == CUDA_SUCCESS) result = known.cuDevicePrimaryCtxRetain(&context, device);
  if (result != CUDA_SUCCESS) {
    *why = words_of("cuDevicePrimaryCtxRetain", result);
    return nullptr;
  }
  primaries_.emplace(ordinal, context);
  return context;
}

Device* Gpus::device_in(CUcontext context, const Memory& memory) {
  for (auto& device : devices_) {
    if (device->context != context || device->gone()) continue;
    if (TERN_LIKELY(!device->has_ended(memory))) return device.get();
    device->forget();
  }
  devices_.push_back(std::make_unique<Device>(*driver(), context, memory.device, kernels_file_));
  Device* const device = devices_.back().get();
  device->mails = mails_;
  device->prepare(chunk_, chunks_);
  return device;
}

}  // namespace tern::cuda
