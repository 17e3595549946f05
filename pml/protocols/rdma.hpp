// SPDX-License-Identifier: Apache-2.0
// Functions shared by the protocols "get" and "put".
#pragma once

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

[[nodiscard]] inline bool is_host_block(const Buffer& buffer) noexcept {
  return !buffer.on_device() && buffer.type->contiguous();
}

}  // namespace tern::pml
