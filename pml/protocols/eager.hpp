// SPDX-License-Identifier: Apache-2.0
// Eager: a small message goes out whole, before its receive is known. The only protocol that is not
// chosen by the receiver, and no row of the table: these are the calls that a small message costs.
//   sender: Eager, or EagerSync, which the receiver answers by Done when it has matched.
// Lifetime: P2p. Threads: under the channel's lock.
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

  /// Whether the peer takes the message without having matched it.
  [[nodiscard]] static bool viable(const SendRequest& request) noexcept {
    const auto bytes = static_cast<int64_t>(request.transfer.bytes);
    if (request.buffer.on_device() && request.transfer.bytes > kMostEagerOnDevice) return false;
    return bytes <= request.peer->eager_limit ||
           (bytes <= request.peer->direct_limit && is_one_block(request.buffer));
  }
  /// Sender, the common case, without a request: small, nothing waits before it, the peer knows the
  /// communicator. False: make a request.
  [[nodiscard]] bool send_now(PeerState& peer, const Buffer& buffer, const Envelope& to,
                              size_t bytes) noexcept;
  /// Sender: reads the data where that may fail (device memory). An error class, with the request's
  /// text.
  [[nodiscard]] int prepare(SendRequest& request) noexcept;
  /// Sender: the frame; false where there is no room. A synchronous send is done with the answer.
  [[nodiscard]] bool emit(SendRequest& request) noexcept;
  /// Receiver: the data of a message that has been matched; the request ends.
  void receive(RecvRequest& request, const btl::Header& header, const std::byte* data,
               size_t bytes) noexcept;

 private:
  /// Host memory that a transport can send from where it lies.
  [[nodiscard]] static bool is_one_block(const Buffer& buffer) noexcept {
    return buffer.type->contiguous() && !buffer.on_device();
  }
  /// The same from where the data lies.
  [[nodiscard]] bool emit_direct(SendRequest& request) noexcept;
  /// What stands before the data; the header's kind.
  static void write_prefix(SendRequest& request, PrefixWriter* writer,
                           btl::Header* header) noexcept;
  /// The error class; the request has the sentence.
  TERN_COLD int unpack_on_device(RecvRequest& request, const std::byte* data,
                                 size_t bytes) noexcept;
  TERN_COLD bool send_device_now(PeerState& peer, const Buffer& buffer,
                                 const btl::Header& header) noexcept;

  core::Process& process_;
  Outbox& outbox_;
  RequestPool& requests_;
};

}  // namespace tern::pml
