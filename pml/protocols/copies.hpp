// SPDX-License-Identifier: Apache-2.0
// What pull and both ends share: whether one process may copy from the other, the stage for data
// that is not one block, and what happens where the kernel refuses.
#pragma once

#include <memory>

#include "pml/protocol.hpp"
#include "pml/requests.hpp"

namespace tern::pml {

/// Host memory that holds the packed form of a message, where the data is not one block.
class Stage {
 public:
  /// Opens one where the data needs it; false where the pipeline is the better way, or no memory.
  [[nodiscard]] bool open(const Context& context, const Buffer& buffer, size_t bytes) noexcept;
  [[nodiscard]] bool in_use() const noexcept { return memory_ != nullptr; }
  /// The block that is copied: the data, or its packed form.
  [[nodiscard]] std::byte* block(const Buffer& buffer) const noexcept {
    return in_use() ? memory_.get() : buffer.first();
  }
  void pack(const Buffer& buffer, size_t offset, size_t length) noexcept {
    buffer.type->pack(buffer.address, buffer.count, offset, memory_.get() + offset, length);
  }
  /// What has come up to `end` goes to its place; nothing to do without a stage.
  void unpack(const Buffer& buffer, size_t end) noexcept;
  [[nodiscard]] size_t unpacked() const noexcept { return unpacked_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  size_t unpacked_ = 0;
};

/// Whether PeerCopy works with the peer.
[[nodiscard]] inline bool can_copy(const btl::Endpoint& endpoint) noexcept {
  return endpoint.caps.peer_copy != nullptr && endpoint.caps.peer_copy->works();
}

/// Whether the receiver copies from the sender's memory: it can, and that is not slower.
[[nodiscard]] bool may_copy(const Context& context, const RecvRequest& request,
                            const Announced& announced) noexcept;

/// The kernel has refused to copy between the processes: another protocol must bring the data,
/// which is said once; or the peer has died.
[[nodiscard]] Step copy_failed(Context& context, const RecvRequest& request, int error,
                               Failure* failure) noexcept;

}  // namespace tern::pml
