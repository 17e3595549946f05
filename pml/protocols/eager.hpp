// SPDX-License-Identifier: Apache-2.0
// Eager: sends a small message whole, before the receive is known.
//   sender: Eager, or EagerSync, which the receiver answers with Done after matching.
#pragma once

#include "pml/limits.hpp"
#include "pml/outbox.hpp"
#include "pml/prefix.hpp"
#include "pml/protocol.hpp"
#include "pml/request_pool.hpp"

namespace tern::pml {

class Eager {
 public:
  Eager(core::Process& process, Outbox& outbox, RequestPool& requests) noexcept
      : process_(process), outbox_(outbox), requests_(requests) {}

  [[nodiscard]] static bool viable(const SendRequest& request) noexcept {
    const auto bytes = static_cast<int64_t>(request.transfer.bytes);
    if (request.buffer.on_device() && request.transfer.bytes > kMostEagerOnDevice) return false;
    return bytes <= request.peer->eager_limit ||
           (bytes <= request.peer->direct_limit && is_one_block(request.buffer));
  }
  /// send_now() makes no request, and returns false if a request is needed.
  [[nodiscard]] bool send_now(PeerState& peer, const Buffer& buffer, const Envelope& to,
                              size_t bytes) noexcept;
  [[nodiscard]] int prepare(SendRequest& request) noexcept;
  /// A synchronous send waits for the receiver's Done.
  [[nodiscard]] bool emit(SendRequest& request) noexcept;
  void receive(RecvRequest& request, const btl::Header& header, const std::byte* data,
               size_t bytes) noexcept;

 private:
  [[nodiscard]] static bool is_one_block(const Buffer& buffer) noexcept {
    return buffer.type->contiguous() && !buffer.on_device();
  }
  [[nodiscard]] bool emit_direct(SendRequest& request) noexcept;
  static void write_prefix(SendRequest& request, PrefixWriter* writer,
                           btl::Header* header) noexcept;
  TERN_COLD int unpack_on_device(RecvRequest& request, const std::byte* data,
                                 size_t bytes) noexcept;
  TERN_COLD bool send_device_now(PeerState& peer, const Buffer& buffer,
                                 const btl::Header& header) noexcept;

  core::Process& process_;
  Outbox& outbox_;
  RequestPool& requests_;
};

}  // namespace tern::pml
