// SPDX-License-Identifier: Apache-2.0
// Matcher: matching, unexpected messages, and flow control.
#pragma once

#include <atomic>

#include "pml/limits.hpp"
#include "pml/matching.hpp"
#include "pml/object_pool.hpp"
#include "pml/outbox.hpp"
#include "pml/p2p/contexts.hpp"
#include "pml/p2p/peers.hpp"
#include "pml/p2p/transfers.hpp"
#include "pml/protocols/eager.hpp"
#include "pml/request_pool.hpp"

namespace tern::pml {

class Matcher {
 public:
  Matcher(core::Channel& channel, const Limits& limits, Outbox& outbox, RequestPool& requests,
          Eager& eager, Transfers& transfers) noexcept;

  /// start() takes an unexpected message, or posts the receive. Returns MPI_ERR_NO_MEM if posting
  /// fails; a non-persistent request is then destroyed.
  [[nodiscard]] int start(RecvRequest& request) noexcept;
  void cancel(RecvRequest& request) noexcept;
  void unpost(RecvRequest& request) noexcept {
    if (Posted<RecvRequest>::holds(request)) posted_.remove(request);
  }
  /// take_frame() needs a well-formed frame, arrive() a short context.
  void take_frame(PeerState& peer, const btl::Frame& frame) noexcept;
  void arrive(PeerState& peer, const btl::Header& header, const std::byte* payload, size_t bytes,
              const wire::TypeSignature* signature = nullptr) noexcept;
  /// Drops an unmatched message that the sender cancels.
  void withdraw(PeerState& peer, uint64_t sender) noexcept;

  [[nodiscard]] Message* look_for(const Envelope& from) noexcept;
  /// wait_for() returns null if the source is lost.
  [[nodiscard]] Message* wait_for(const Envelope& from, const Peers& peers) noexcept;
  [[nodiscard]] bool has(const Envelope& from) noexcept {
    return unexpected_.find(key_of(from)) != nullptr;
  }
  /// take_out() implements MPI_Mprobe.
  [[nodiscard]] int take_out(const Envelope& from, Message& message, Matched** matched,
                             core::Outcome* outcome) noexcept;
  void receive(RecvRequest& request, Message& message) noexcept;

  [[nodiscard]] bool empty() const noexcept { return unexpected_.empty() && posted_.empty(); }
  [[nodiscard]] bool has_posted() const noexcept { return !posted_.empty(); }
  [[nodiscard]] Contexts& contexts() noexcept { return contexts_; }
  void learn_context(PeerState& peer, const wire::ContextTold& told) noexcept;
  void watch_early(EarlyWatcher* watcher) noexcept { watcher_ = watcher; }
  void add_up(const core::Communicator* of, Statistics* sums) const noexcept;

 private:
  [[nodiscard]] TERN_COLD int cannot_post(RecvRequest& request) noexcept;
  void keep(PeerState& peer, const Key& key, const btl::Header& header, const std::byte* payload,
            size_t bytes, const wire::TypeSignature* signature) noexcept;
  void count_kept(PeerState& peer, size_t more, size_t less) noexcept;

  core::Channel& channel_;
  const Limits& limits_;
  Outbox& outbox_;
  RequestPool& requests_;
  Eager& eager_;
  Transfers& transfers_;
  Contexts contexts_;
  Posted<RecvRequest> posted_;
  Unexpected<Message> unexpected_;
  ObjectPool<Message> messages_;
  uint64_t early_ = 0, most_kept_ = 0;
  std::atomic<EarlyWatcher*> watcher_ = nullptr;
};

[[nodiscard]] core::Outcome outcome_of(const Message& message, const Envelope& from) noexcept;

/// check_signature() records an error. `sent` is null for an unsigned message.
void check_signature(RecvRequest& request, const PeerState& peer, const btl::Header& header,
                     const wire::TypeSignature* sent, size_t bytes);

}  // namespace tern::pml
