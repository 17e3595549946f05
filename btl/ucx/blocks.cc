// SPDX-License-Identifier: Apache-2.0
// Blocks: one allocation, whose pages are touched only when used.
#include "btl/ucx/blocks.hpp"

namespace tern::btl::ucx {

Blocks::Blocks(size_t count, size_t payload_bytes)
    : memory_(new std::byte[count * (sizeof(WireHead) + payload_bytes)]), blocks_(count) {
  for (size_t i = count; i > 0; --i) {
    Block& block = blocks_[i - 1];
    block.home = this;
    block.head = memory_.get() + (i - 1) * (sizeof(WireHead) + payload_bytes);
    block.next = free_;
    free_ = &block;
  }
}

}  // namespace tern::btl::ucx
