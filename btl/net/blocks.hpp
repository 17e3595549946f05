// SPDX-License-Identifier: Apache-2.0
// Blocks: memory of frames not yet sent by the library. The count bounds a channel's sends in
// flight.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "btl/net/pool.hpp"
#include "btl/net/wire.hpp"

namespace tern::btl::net {

/// The library reads head and payload until the send ends.
struct FrameBuffer {
  FrameBuffer* next;
  Endpoint* endpoint;
  WireHead* head;
  std::byte* payload;
};

class FrameBuffers : public FreeList<FrameBuffer> {
 public:
  FrameBuffers(size_t count, size_t payload_bytes);
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return {memory_.get(), bytes_}; }

 private:
  const size_t bytes_;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace tern::btl::net
