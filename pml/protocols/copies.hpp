// SPDX-License-Identifier: Apache-2.0
// Functions shared by the protocols "pull" and "both ends".
#pragma once

#include <memory>

#include "pml/protocol.hpp"
#include "pml/requests.hpp"

namespace tern::pml {

/// A PackStage is host memory for the packed form of data with holes.
class PackStage {
 public:
  /// open() returns false if the pipeline is faster, or memory is short.
  [[nodiscard]] bool open(const ProtocolContext& context, const Buffer& buffer,
                          size_t bytes) noexcept;
  [[nodiscard]] bool in_use() const noexcept { return memory_ != nullptr; }
  [[nodiscard]] std::byte* block(const Buffer& buffer) const noexcept {
    return in_use() ? memory_.get() : buffer.first();
  }
  void pack(const Buffer& buffer, size_t offset, size_t length) noexcept {
    buffer.type->pack(buffer.address, buffer.count, offset, memory_.get() + offset, length);
  }
  void unpack(const Buffer& buffer, size_t end) noexcept;
  [[nodiscard]] size_t unpacked() const noexcept { return unpacked_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  size_t unpacked_ = 0;
};

[[nodiscard]] inline bool can_copy(const btl::Endpoint& endpoint) noexcept {
  return endpoint.caps.peer_copy != nullptr && endpoint.caps.peer_copy->works();
}

[[nodiscard]] bool may_copy(const ProtocolContext& context, const RecvRequest& request,
                            const Announced& announced) noexcept;

/// copy_failed() asks for another protocol (logged once), unless the peer has died.
[[nodiscard]] HalfStep copy_failed(ProtocolContext& context, const RecvRequest& request, int error,
                                   Failure* failure) noexcept;

}  // namespace tern::pml
