// SPDX-License-Identifier: Apache-2.0
// Transfers: the large messages of a channel: chooses protocols, calls their halves, acts on the
// returned steps (pml/protocol.hpp). Reentrance: frames to the own rank arrive inside the sending
// call.
#pragma once

#include <utility>

#include "pml/outbox.hpp"
#include "pml/protocol.hpp"
#include "pml/request_pool.hpp"

namespace tern::pml {

template <class Request>
class Polled {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void add(Request& request) noexcept {
    auto& transfer = request.transfer;
    if (std::exchange(transfer.polled, true)) return;
    transfer.previous_polled = nullptr;
    transfer.next_polled = first_;
    if (first_ != nullptr) first_->transfer.previous_polled = &request;
    first_ = &request;
  }
  void remove(Request& request) noexcept {
    auto& transfer = request.transfer;
    if (!std::exchange(transfer.polled, false)) return;
    Request *const before = transfer.previous_polled, *const behind = transfer.next_polled;
    (before == nullptr ? first_ : before->transfer.next_polled) = behind;
    if (behind != nullptr) behind->transfer.previous_polled = before;
    if (next_ == &request) next_ = behind;
  }
  /// `visit` may add and remove requests.
  template <class Visit>
  void for_each(const Visit& visit) noexcept {
    for (Request* one = first_; one != nullptr; one = next_) {
      next_ = one->transfer.next_polled;
      visit(*one);
    }
  }

 private:
  Request* first_ = nullptr;
  Request* next_ = nullptr;
};

class Transfers {
 public:
  Transfers(const ProtocolContext& context) noexcept : context_(context) {}

  /// Tests call use() before the first message.
  void use(ProtocolTable table) noexcept { table_ = table; }

  /// prepare() chooses the offer, and returns an error class if the data is unreadable.
  [[nodiscard]] int prepare(SendRequest& request) noexcept;
  /// announce() sends the RTS, or reports lost data.
  [[nodiscard]] bool announce(SendRequest& request) noexcept;
  [[nodiscard]] TERN_COLD bool announce_lost(SendRequest& request) noexcept;

  void receive(RecvRequest& request, const btl::Header& header,
               const Announced& announced) noexcept;

  // Frames without a matching request of the peer are logged and ignored.
  void take(const PeerState& from, const wire::Go& go, std::span<const std::byte> key) noexcept;
  void take(const PeerState& from, const wire::DataPrefix& prefix, const std::byte* data,
            size_t bytes) noexcept;
  void take(const PeerState& from, const wire::Done& done) noexcept;
  void take(const PeerState& from, const wire::Landed& landed) noexcept;
  void take(const PeerState& from, const wire::Failed& failed) noexcept;

  void abandon(SendRequest& request, const Failure& failure) noexcept;
  void abandon(RecvRequest& request, const Failure& failure) noexcept;

  [[nodiscard]] bool empty() const noexcept { return receiving_.empty() && sending_.empty(); }
  int progress() noexcept;

 private:
  [[nodiscard]] const Protocol* chosen_by(const SendRequest& request,
                                          const wire::Go& go) const noexcept;
  bool try_next(RecvRequest& request, const Protocol& protocol,
                const Announced& announced) noexcept;
  void choose(RecvRequest& request, const Announced& announced, bool always) noexcept;
  void replace(RecvRequest& request) noexcept;
  void follow(SendRequest& request, HalfStep step) noexcept;
  void follow(RecvRequest& request, HalfStep step) noexcept;
  TERN_COLD void ignore(const char* what) const noexcept;
  TERN_COLD void fail(SendRequest& request, const Failure& failure) noexcept;
  void end(RecvRequest& request, const Failure& failure) noexcept;
  static HalfStep advance(SendRequest& request) noexcept;
  static HalfStep advance(RecvRequest& request) noexcept;
  template <class Request>
  int advance(Polled<Request>& polled) noexcept;

  ProtocolContext context_;
  ProtocolTable table_ = protocols();
  Polled<RecvRequest> receiving_;
  Polled<SendRequest> sending_;
};

}  // namespace tern::pml
