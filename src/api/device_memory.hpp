// SPDX-License-Identifier: Apache-2.0
// MPI_Alloc_mem from the CUDA driver: memory of the current device, pinned or managed.
// Why: device memory is allocated exportable, so peers can map and copy it once.
// Lifetime: until free_device_memory(); at exit the driver frees the rest. Threads: any. See:
// src/api/memory_kinds.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tern::api {

enum class DeviceKind { kDevice, kHost, kManaged };

struct DeviceResult {
  int error_class = 0;
  std::string why;        // a sentence without a full stop
  bool not_mine = false;  // of free: plain host memory
};

/// The restrictors of the side document: "device", "host", "managed".
[[nodiscard]] bool device_kind(std::string_view word, DeviceKind* kind) noexcept;
/// Uses the current context. Throws std::bad_alloc.
[[nodiscard]] DeviceResult take_device_memory(DeviceKind kind, size_t bytes, size_t alignment,
                                              void** memory);
[[nodiscard]] DeviceResult free_device_memory(void* memory) noexcept;

}  // namespace tern::api
