// SPDX-License-Identifier: Apache-2.0
// The table of device transports.
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/process_id.hpp"
#include "btl/device.hpp"
#include "core/process.hpp"

#define TERN_DEVICE_WAYS(ROW) \
  ROW(peer)                   \
  ROW(cuda_ipc)

#define TERN_DECLARED(folder)                       \
  namespace folder {                                \
  extern const DeviceTransportRow kDeviceTransport; \
  }
#define TERN_ROW(folder) &folder::kDeviceTransport,

namespace tern::btl {

TERN_DEVICE_WAYS(TERN_DECLARED)

std::span<const DeviceTransportRow* const> device_transports() noexcept {
  static constexpr const DeviceTransportRow* kTable[] = {TERN_DEVICE_WAYS(TERN_ROW)};
  return kTable;
}
#undef TERN_DECLARED
#undef TERN_ROW

Devices::Devices(core::Process& process) : process_(process) {
  for (const DeviceTransportRow* row : device_transports()) ways_.push_back(row->make(process));
}

Devices::~Devices() = default;

void Devices::set_in_use() noexcept {
  in_use_ = true;
  process_.waits.most_sleep_us.store(kPeriodUs, std::memory_order_relaxed);
}

void Devices::look_if_time() noexcept {
  const int64_t now = now_ns();
  if (now < next_look_ns_) return;
  next_look_ns_ = now + kPeriodUs * 1000;
  if (cuda::driver() == nullptr) return;  // no driver in a forked child
  for (const auto& way : ways_) way->look_after();
  process_.gpus.look_after();
}

bool Devices::offer(cuda::Device& device, const cuda::Memory& memory, const void* address,
                    size_t bytes, MemoryHandle* handle) noexcept {
  *handle = {};
  handle->pid = ::getpid();
  handle->process = process_id();
  handle->machine = machine_id();
  handle->domain = number_domain();
  handle->buffer_id = memory.buffer_id;
  handle->base = memory.base;
  handle->bytes = memory.bytes;
  handle->address = reinterpret_cast<uint64_t>(address);
  handle->device = device.uuid;
  set_in_use();
  std::string why;
  try {
    for (const auto& way : ways_) {
      std::string its;
      if (way->offer(device, memory, bytes, handle, &its)) return true;
      if (why.empty()) why = its;
    }
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (!told_offer_)
    process_.explain.warn("fallback", {{"what", "staged device memory"}},
                          strf("the %zu bytes of device memory at %p cannot be shared with other "
                               "ranks; transfers need one more copy or go through the host: %s",
                               bytes, address, why.c_str()));
  told_offer_ = true;
  return false;
}

std::unique_ptr<MappedPeerMemory> Devices::map(const MemoryHandle& handle,
                                               cuda::Device& device) noexcept {
  if (handle.machine != machine_id()) return nullptr;
  if (TERN_UNLIKELY(avoids(device.uuid, handle.device))) return nullptr;
  set_in_use();
  std::string why;
  try {
    for (auto& way : ways_) {
      if (auto mapped = way->map(handle, device); mapped != nullptr) return mapped;
      if (why.empty()) why = way->why_not();
      if (TERN_UNLIKELY(way->found_wrong_data())) avoid(device.uuid, handle.device);
    }
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (why.empty()) return nullptr;
  if (!told_reach_)
    process_.explain.warn(
        "fallback", {{"what", "staged device memory"}},
        strf("device memory of process %d cannot be mapped on device %d and goes through the host, "
             "which is slower: %s",
             handle.pid, device.ordinal, why.c_str()));
  told_reach_ = true;
  return nullptr;
}

}  // namespace tern::btl
