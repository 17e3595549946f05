// SPDX-License-Identifier: Apache-2.0
// Memory of the CUDA driver's for MPI_Alloc_mem: of the current context's device, pinned, managed.
// Why: device memory is exportable from the start, so that it is mapped by the other ranks and
// copied once. Lifetime: until free_device_memory(); the driver takes back what is left at exit.
// Threads: any. See: src/api/memory_kinds.hpp.
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

/// By the side document's restrictor: "device", "host", "managed".
[[nodiscard]] bool device_kind(std::string_view word, DeviceKind* kind) noexcept;
/// In the context that is current. Throws std::bad_alloc.
[[nodiscard]] DeviceResult take_device_memory(DeviceKind kind, size_t bytes, size_t alignment,
                                              void** memory);
[[nodiscard]] DeviceResult free_device_memory(void* memory) noexcept;

}  // namespace tern::api
