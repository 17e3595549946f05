// SPDX-License-Identifier: Apache-2.0
// Functions shared by the protocols "get" and "put".
#pragma once

#include <memory>
#include <span>

#include "core/device_copy.hpp"
#include "core/peer.hpp"
#include "pml/limits.hpp"
#include "pml/protocol.hpp"
#include "pml/requests.hpp"

namespace tern::pml {

inline constexpr size_t kRdmaPiece = 1 << 20;
/// Pieces in flight per message, to leave some to others.
inline constexpr uint32_t kRdmaPieces = 4;

template <class Request>
[[nodiscard]] bool rdma_pays(const ProtocolContext& context, const Request& request) noexcept {
  const btl::Rdma* const rdma = request.peer->endpoint->caps.rdma;
  return rdma != nullptr && request.transfer.bytes >= context.limits.least_rdma(rdma->offloaded);
}

/// One block of memory that adapters may register. Managed memory migrates.
[[nodiscard]] inline bool is_rdma_block(const Buffer& buffer) noexcept {
  return buffer.type->contiguous() && buffer.kind != cuda::MemoryKind::kManaged;
}

/// A block at this end of a message, registered with the adapter.
class RdmaBlock {
 public:
  /// Registers the memory. False: refused, or the application's writes to device memory take long.
  [[nodiscard]] bool open(ProtocolContext& context, btl::Rdma& rdma, const Buffer& buffer,
                          size_t bytes) noexcept;
  [[nodiscard]] bool open_host(btl::Rdma& rdma, std::byte* first, size_t bytes) noexcept;
  void close() noexcept { region_.reset(); }
  [[nodiscard]] bool is_open() const noexcept { return region_ != nullptr; }
  /// key() is empty if peers cannot use the block.
  [[nodiscard]] std::span<const std::byte> key() const noexcept { return region_->key(); }
  [[nodiscard]] uint64_t address() const noexcept { return reinterpret_cast<uint64_t>(first_); }
  [[nodiscard]] btl::LocalMemory at(size_t offset, size_t bytes) const noexcept {
    return {first_ + offset, bytes, device_ == nullptr ? nullptr : region_.get()};
  }
  /// After the last write of an adapter, and before the application's reads.
  [[nodiscard]] Failure end_writes() const noexcept;

 private:
  [[nodiscard]] bool settle(ProtocolContext& context, const Buffer& buffer) noexcept;

  std::byte* first_ = nullptr;
  cuda::Device* device_ = nullptr;  // null: host memory
  std::unique_ptr<btl::MemoryRegion> region_;
};

}  // namespace tern::pml
