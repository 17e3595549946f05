// SPDX-License-Identifier: Apache-2.0
// RequestPool: the requests of one channel: made, begun, finished, recycled.
// Why: what a request keeps alive (its type, its communicator, itself) is taken and released here
// and nowhere else, whichever protocol moves its data.
// Lifetime: P2p. Threads: under the channel's lock, except make and recycle (see
// ObjectPool).
#pragma once

#include "pml/matching.hpp"
#include "pml/object_pool.hpp"
#include "pml/requests.hpp"

namespace tern::pml {

class RequestPool {
 public:
  RequestPool(MessageEngine& owner, core::Channel& channel);
  ~RequestPool();
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;

  /// From now on several threads may call (see Runtime::admit_threads).
  void admit_threads() noexcept {
    sends_.set_threaded(true);
    recvs_.set_threaded(true);
  }

  /// Null, with fail() text, where there is no memory.
  [[nodiscard]] SendRequest* make_send(const Buffer& buffer, const Envelope& to,
                                       Mode mode) noexcept;
  [[nodiscard]] RecvRequest* make_recv(const Buffer& buffer, const Envelope& from) noexcept;
  /// A complete send, shared by all that ended within their call; null where every request must
  /// know its call (TERN_CHECK=leaks).
  [[nodiscard]] SendRequest* completed_send() const noexcept {
    return tracks_ ? nullptr : completed_;
  }

  /// The operation begins: from here to finish() it has a reference of its own.
  void begin(SendRequest& request, int lost) noexcept;
  void begin(RecvRequest& request) noexcept;
  /// The operation ends. A receive keeps an error that is noted already (truncation) where `error`
  /// is MPI_SUCCESS.
  /// A send ends no sooner than what the transport does for it (btl::Operation).
  void finish(SendRequest& request, int error) noexcept;
  void finish(RecvRequest& request, int error) noexcept;
  /// The transport is done with what it did for the send.
  void done(SendRequest& request) noexcept;
  /// The one way to fail a request that has begun. Who tells the other end: Transfers.
  TERN_COLD void fail(SendRequest& request, const Failure& failure) noexcept;
  TERN_COLD void fail(RecvRequest& request, const Failure& failure) noexcept;
  TERN_COLD void fail(SendRequest& request, const Fate& fate) noexcept;
  /// The receive has matched a message whose data is to come.
  void mark_large(RecvRequest& request) noexcept {
    request.large = true;
    ++receiving_;
  }
  /// How many of these there are.
  [[nodiscard]] int receiving() const noexcept { return receiving_; }

  /// The last reference has gone.
  void recycle(SendRequest& request) noexcept { recycle(request, sends_); }
  void recycle(RecvRequest& request) noexcept { recycle(request, recvs_); }

  /// Adds the operations under way to a report's words.
  void describe_open(WaitReport* report) const;
  /// Receives that ended.
  [[nodiscard]] uint64_t received() const noexcept { return received_; }
  /// One ended without a request.
  void count_received() noexcept { ++received_; }
  [[nodiscard]] const std::vector<std::unique_ptr<RecvRequest>>& receives() const noexcept {
    return recvs_.all();
  }
  [[nodiscard]] const std::vector<std::unique_ptr<SendRequest>>& sends() const noexcept {
    return sends_.all();
  }

 private:
  TERN_COLD void finish_later(SendRequest& request, int error) noexcept;
  template <class Request>
  [[nodiscard]] Request* acquire(ObjectPool<Request>& pool) noexcept;
  template <class Request>
  [[nodiscard]] TERN_COLD Request* add(ObjectPool<Request>& pool) noexcept;
  template <class Request>
  void recycle(Request& request, ObjectPool<Request>& pool) noexcept;

  MessageEngine& owner_;
  core::Process& process_;
  ObjectPool<SendRequest> sends_;
  ObjectPool<RecvRequest> recvs_;
  uint64_t received_ = 0;
  int receiving_ = 0;
  bool tracks_;
  SendRequest* completed_ = nullptr;
};

/// What a persistent request keeps: the user may free type and communicator before it.
void keep_for_restart(const Buffer& buffer, core::Communicator& communicator) noexcept;
/// An error of an earlier round of a persistent request is forgotten.
void forget_failure(core::Request& request) noexcept;

/// Of a receive: where it looks for messages.
[[nodiscard]] inline uint32_t context_of(const Envelope& from) noexcept {
  return wire::context_word(from.communicator->index(), static_cast<uint32_t>(from.plane));
}
[[nodiscard]] inline Key key_of(const Envelope& from) noexcept {
  const uint32_t source =
      from.rank == MPI_ANY_SOURCE ? kAnySource : from.communicator->peer_index(from.rank);
  return {context_of(from), source, from.tag};
}

}  // namespace tern::pml
