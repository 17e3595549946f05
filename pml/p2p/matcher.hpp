// SPDX-License-Identifier: Apache-2.0
// Matcher: which receive takes which message, the messages that came before their receive, and flow
// control: what one peer may have here without a receive.
// Ordering: see matching.hpp. Lifetime: P2p. Threads: under the channel's lock.
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

  /// A receive begins: it takes a message that is here, or is posted. MPI_ERR_NO_MEM, with fail()
  /// text, where it cannot be posted: then nothing has begun, and a request that is not persistent
  /// is gone.
  [[nodiscard]] int start(RecvRequest& request) noexcept;
  /// Ends a receive that is posted still.
  void cancel(RecvRequest& request) noexcept;
  /// Takes a receive out of the queue of those that wait, if it is there.
  void unpost(RecvRequest& request) noexcept {
    if (Posted<RecvRequest>::holds(request)) posted_.remove(request);
  }
  /// A message, or the announcement of one, has come: its frame. Of well-formed ones that do not
  /// name their communicator in long form: arrive().
  void take_frame(PeerState& peer, const btl::Frame& frame) noexcept;
  void arrive(PeerState& peer, const btl::Header& header, const std::byte* payload, size_t bytes,
              const wire::Signature* signature = nullptr) noexcept;
  /// The sender takes a message back, where it is still here.
  void withdraw(PeerState& peer, uint64_t sender) noexcept;

  /// The earliest message that fits, after one round of progress at most; null if no message fits.
  [[nodiscard]] Message* look_for(const Envelope& from) noexcept;
  /// Null where its source is lost.
  [[nodiscard]] Message* wait_for(const Envelope& from, const Peers& peers) noexcept;
  /// Whether a message that fits is here.
  [[nodiscard]] bool has(const Envelope& from) noexcept {
    return unexpected_.find(key_of(from)) != nullptr;
  }
  /// MPI_Mprobe: out of the queues, to be received later; an error class with fail() text.
  [[nodiscard]] int take_out(const Envelope& from, Message& message, Matched** matched,
                             core::Outcome* outcome) noexcept;
  /// A message that is in no queue any more.
  void receive(RecvRequest& request, Message& message) noexcept;

  /// Whether a message that comes next meets nothing here.
  [[nodiscard]] bool empty() const noexcept { return unexpected_.empty() && posted_.empty(); }
  [[nodiscard]] bool has_posted() const noexcept { return !posted_.empty(); }
  [[nodiscard]] Contexts& contexts() noexcept { return contexts_; }
  /// The peer has told how to name a communicator from now on.
  void learn_context(PeerState& peer, const wire::ContextTold& told) noexcept;
  void watch_early(EarlyWatcher* watcher) noexcept { watcher_ = watcher; }
  void add_up(const core::Communicator* of, Statistics* sums) const noexcept;

 private:
  [[nodiscard]] TERN_COLD int cannot_post(RecvRequest& request) noexcept;
  void keep(PeerState& peer, const Key& key, const btl::Header& header, const std::byte* payload,
            size_t bytes, const wire::Signature* signature) noexcept;
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
  uint64_t early_ = 0, most_kept_ = 0;  // for tools
  std::atomic<EarlyWatcher*> watcher_ = nullptr;
};

/// What a probe says of a message.
[[nodiscard]] core::Outcome outcome_of(const Message& message, const Envelope& from) noexcept;

/// TERN_CHECK=types: notes on the request where the types of the message (null: unsigned) differ.
void check_signature(RecvRequest& request, const PeerState& peer, const btl::Header& header,
                     const wire::Signature* sent, size_t bytes);

}  // namespace tern::pml
