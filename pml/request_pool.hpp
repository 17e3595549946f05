// SPDX-License-Identifier: Apache-2.0
// RequestPool: makes, starts, finishes and recycles the requests of one channel, including
// references (type, communicator, the request).
// Threads: any may make and recycle (see ObjectPool).
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

  void admit_threads() noexcept {
    sends_.set_threaded(true);
    recvs_.set_threaded(true);
  }

  [[nodiscard]] SendRequest* make_send(const Buffer& buffer, const Envelope& to,
                                       Mode mode) noexcept;
  [[nodiscard]] RecvRequest* make_recv(const Buffer& buffer, const Envelope& from) noexcept;
  /// Sends that finish inside the call share this request; null under TERN_CHECK=leaks.
  [[nodiscard]] SendRequest* completed_send() const noexcept {
    return tracks_ ? nullptr : completed_;
  }

  /// Starts the operation, which holds a reference to the request until finish().
  void begin(SendRequest& request, int lost) noexcept;
  void begin(RecvRequest& request) noexcept;
  /// finish() with MPI_SUCCESS keeps a receive's earlier error (truncation). A send ends only after
  /// all transport operations.
  void finish(SendRequest& request, int error) noexcept;
  void finish(RecvRequest& request, int error) noexcept;
  void done(SendRequest& request) noexcept;
  /// Ends a started request with an error and a text. Transfers notifies the peer.
  TERN_COLD void fail(SendRequest& request, const Failure& failure) noexcept;
  TERN_COLD void fail(RecvRequest& request, const Failure& failure) noexcept;
  TERN_COLD void fail(SendRequest& request, const Fate& fate) noexcept;
  void mark_large(RecvRequest& request) noexcept {
    request.large = true;
    ++receiving_;
  }
  [[nodiscard]] int receiving() const noexcept { return receiving_; }

  void recycle(SendRequest& request) noexcept { recycle(request, sends_); }
  void recycle(RecvRequest& request) noexcept { recycle(request, recvs_); }

  void describe_open(WaitReport* report) const;
  [[nodiscard]] uint64_t received() const noexcept { return received_; }
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

/// Type and communicator are retained, because the user may free both.
void keep_for_restart(const Buffer& buffer, core::Communicator& communicator) noexcept;
void forget_failure(core::Request& request) noexcept;

[[nodiscard]] inline uint32_t context_of(const Envelope& from) noexcept {
  return wire::context_word(from.communicator->index(), static_cast<uint32_t>(from.plane));
}
[[nodiscard]] inline Key key_of(const Envelope& from) noexcept {
  const uint32_t source =
      from.rank == MPI_ANY_SOURCE ? kAnySource : from.communicator->peer_index(from.rank);
  return {context_of(from), source, from.tag};
}

}  // namespace tern::pml
