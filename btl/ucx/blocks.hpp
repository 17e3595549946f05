// SPDX-License-Identifier: Apache-2.0
// Blocks: the memory of frames that UCX has not sent yet; how many there are bounds what one
// channel has under way.
// Lifetime: a channel's Ucx, until UCX has let go of each. Threads: under the channel's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "btl/btl.hpp"

namespace tern::btl::ucx {

/// Who sent a frame, which UCX does not say.
struct Origin {
  uint32_t cookie;  // the receiver's, from its address: a stray of another job has another
  uint32_t rank;
  uint16_t sequence;  // of the frame, at its endpoint
  uint8_t channel;
  uint8_t nspace;
};
/// What an active message begins with; the frame's payload follows. (UCX's own place for heads is
/// dearer: over TCP a short message of two parts costs a scattered write.)
struct WireHead {
  Header header;
  Origin origin;
};
static_assert(sizeof(WireHead) == 28);

class UcxEndpoint;
class Blocks;

/// The head lies before the payload.
struct Block {
  UcxEndpoint* endpoint;  // while under way
  Blocks* home;
  Block* next;
  std::byte* head;
  [[nodiscard]] std::byte* payload() const noexcept { return head + sizeof(WireHead); }
};

class Blocks {
 public:
  Blocks(size_t count, size_t payload_bytes);

  /// Null where all are under way.
  [[nodiscard]] Block* take() noexcept {
    Block* const block = free_;
    if (block == nullptr) return nullptr;
    free_ = block->next;
    ++away_;
    return block;
  }
  void give_back(Block& block) noexcept {
    block.next = free_;
    free_ = &block;
    --away_;
  }
  [[nodiscard]] size_t away() const noexcept { return away_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::vector<Block> blocks_;
  Block* free_ = nullptr;
  size_t away_ = 0;
};

}  // namespace tern::btl::ucx
