// SPDX-License-Identifier: Apache-2.0
// Blocks: one allocation. Pages are touched on first use.
#include "btl/net/blocks.hpp"

#include <new>

namespace tern::btl::net {
namespace {

// Payloads begin at a cache line.
constexpr size_t kLine = 64;
size_t stride_for(size_t payload_bytes) noexcept {
  return kLine + (payload_bytes + kLine - 1) / kLine * kLine;
}

}  // namespace

FrameBuffers::FrameBuffers(size_t count, size_t payload_bytes)
    : FreeList(count),
      bytes_(count * stride_for(payload_bytes)),
      memory_(static_cast<std::byte*>(::operator new[](bytes_))) {
  for (size_t i = 0; i < count; ++i) {
    std::byte* const line = memory_.get() + i * stride_for(payload_bytes);
    at(i).payload = line + kLine;
    at(i).head = new (line + kLine - sizeof(WireHead)) WireHead;
  }
}

}  // namespace tern::btl::net
