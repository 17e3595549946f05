// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/offers.hpp"

#include "btl/cuda_ipc/exports.hpp"

namespace tern::btl::cuda_ipc {

bool offer(cuda::Device& device, const cuda::Memory& memory, size_t bytes, MemoryHandle* handle,
           std::string* why_not) {
  if (memory.kind != cuda::MemoryKind::kDevice || memory.buffer_id == 0) {
    *why_not = memory.kind == cuda::MemoryKind::kManaged
                   ? "managed memory has no handle"
                   : "the driver does not report the buffer's allocation";
    return false;
  }
  const bool mapped = !memory.legacy_ipc && !memory.pooled;
  const uint64_t offset = handle->address - memory.base;
  if (!mapped && (offset > memory.bytes || bytes > memory.bytes - offset)) {
    *why_not = "the buffer exceeds its allocation";
    return false;
  }
  Exports& exports = Exports::instance();
  if (memory.legacy_ipc) return exports.name_legacy(device, memory, handle, why_not);
  const cuda::Current current(device);
  return mapped ? exports.name_mappings(device, bytes, handle, why_not)
                : exports.name_pooled(device, memory, handle, why_not);
}

}  // namespace tern::btl::cuda_ipc
