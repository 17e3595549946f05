// SPDX-License-Identifier: Apache-2.0
// Blocks: memory of frames that the library has not sent yet. The count bounds the sends in flight
// of one channel.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "btl/net/pool.hpp"
#include "btl/net/wire.hpp"

namespace tern::btl::net {

/// The library reads the head until the send ends, so head and payload are adjacent.
struct Block {
  Block* next;
  Endpoint* endpoint;  // while under way
  WireHead* head;      // directly before the payload
  std::byte* payload;
};

class Blocks : public Pool<Block> {
 public:
  Blocks(size_t count, size_t payload_bytes);
  /// All blocks, for registration.
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return {memory_.get(), bytes_}; }

 private:
  const size_t bytes_;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace tern::btl::net
