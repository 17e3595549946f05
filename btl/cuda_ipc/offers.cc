// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/offers.hpp"

#include <unistd.h>

#include "btl/cuda_ipc/exports.hpp"

namespace tern::btl::cuda_ipc {

bool offer(cuda::Device& device, const cuda::Memory& memory, const void* address, size_t bytes,
           MemoryCard* card, std::string* why_not) {
  *card = {};
  card->pid = ::getpid();
  card->buffer_id = memory.buffer_id;
  card->base = memory.base;
  card->bytes = memory.bytes;
  card->address = reinterpret_cast<uint64_t>(address);
  card->device = device.uuid;
  if (memory.kind != cuda::MemoryKind::kDevice) {
    *why_not = memory.kind == cuda::MemoryKind::kManaged
                   ? "it is managed memory, which has no handle"
                   : "the driver does not say which allocation it lies in";
    return false;
  }
  if (memory.pooled) {
    *why_not = "its pool (cudaMallocAsync) is not exportable; cudaMalloc's memory is";
    return false;
  }
  if (!memory.legacy_ipc)
    return Exports::instance().name_mappings(device, memory, bytes, card, why_not);
  if (card->address - memory.base <= memory.bytes &&
      bytes <= memory.bytes - (card->address - memory.base))
    return Exports::instance().name_legacy(device, memory, card, why_not);
  *why_not = "it reaches beyond its allocation";
  return false;
}

}  // namespace tern::btl::cuda_ipc
