// SPDX-License-Identifier: Apache-2.0
// MPI_Alloc_mem from the CUDA driver: device, pinned or managed memory. Peers can map device
// memory.
// Lifetime: until free_device_memory(), or the driver's end. Threads: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tern::api {

enum class DeviceKind { kDevice, kHost, kManaged };

struct DeviceResult {
  int error_class = 0;
  std::string why;  // without a full stop
  bool not_mine = false;
};

[[nodiscard]] bool device_kind(std::string_view word, DeviceKind* kind) noexcept;
/// Allocates in the current context. Throws std::bad_alloc.
[[nodiscard]] DeviceResult take_device_memory(DeviceKind kind, size_t bytes, size_t alignment,
                                              void** memory);
[[nodiscard]] DeviceResult free_device_memory(void* memory) noexcept;

}  // namespace tern::api
