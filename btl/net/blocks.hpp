// SPDX-License-Identifier: Apache-2.0
// Blocks: the memory of frames that the library has not sent yet; how many there are bounds what
// one channel has under way.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "btl/net/pool.hpp"
#include "btl/net/wire.hpp"

namespace tern::btl::net {

/// The library reads the head until the send ends, so it lies with the payload, right before it.
struct Block {
  Block* next;
  Endpoint* endpoint;  // while under way
  WireHead* head;      // right before the payload
  std::byte* payload;
};

class Blocks : public Pool<Block> {
 public:
  Blocks(size_t count, size_t payload_bytes);
  /// Where all of them lie.
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return {memory_.get(), bytes_}; }

 private:
  const size_t bytes_;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace tern::btl::net
