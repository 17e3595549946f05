// SPDX-License-Identifier: Apache-2.0
// Outbox: frames out, and what waits for room: per peer a queue of control frames and a queue of
// sends whose first frame found none.
// Ordering: sends of one peer go out in the order of their calls; control frames go before sends
// that wait. Lifetime: P2p. Threads: under the channel's lock.
#pragma once

#include <deque>

#include "pml/requests.hpp"

namespace tern::pml {

/// Who sends the first frame of a send that has waited. Sending implements it.
class Emitter {
 public:
  /// False where there is no room; else the request may be gone.
  virtual bool emit(SendRequest& request) noexcept = 0;

 protected:
  ~Emitter() = default;
};

class Outbox {
 public:
  explicit Outbox(core::Channel& channel);
  /// Before the first enqueue().
  void set_emitter(Emitter& emitter) noexcept { emitter_ = &emitter; }

  /// A frame about a transfer: goes out now, or before everything else once there is room.
  void send_control(PeerState& peer, uint8_t kind, const void* payload, size_t bytes) noexcept;
  template <class T>
  void send_control(PeerState& peer, uint8_t kind, const T& payload) noexcept {
    static_assert(sizeof(T) <= sizeof(PeerState::Control::payload));
    send_control(peer, kind, &payload, sizeof payload);
  }

  /// Room for a message's first frame of so many bytes, behind the names that the peer needs; null
  /// if there is no room. `header` lacks the kind.
  [[nodiscard]] std::byte* begin_frame(const SendRequest& request, size_t bytes,
                                       btl::Header* header) noexcept;

  /// Writes these names alone, where the frame's data is sent from where it lies: where they end,
  /// at most kMostNames bytes on.
  static constexpr size_t kMostNames = sizeof(wire::LongContext) + sizeof(wire::Signature);
  [[nodiscard]] std::byte* write_names(const SendRequest& request, std::byte* room,
                                       btl::Header* header) const noexcept;

  /// A send whose first frame found no room, behind those that wait already.
  void enqueue(SendRequest& request) noexcept;
  /// Takes it out again; false where it is not there.
  bool remove(SendRequest& request) noexcept;

  /// The peer is lost: nothing waits for it any more.
  void drop(PeerState& peer) noexcept;

  [[nodiscard]] bool empty() const noexcept { return first_listed_ == nullptr; }
  /// Sends what has room now; the number of peers for which nothing waits any more.
  int progress() noexcept;
  /// Progress until no frame waits for room to a peer that still needs it.
  void wait_until_empty() noexcept;
  /// TERN_CHECK=types: messages carry a signature.
  [[nodiscard]] bool is_signing() const noexcept { return signs_; }

 private:
  struct Names {
    uint32_t index;  // of the communicator, there; 0: not told yet
    bool is_signed;
  };
  [[nodiscard]] Names names_for(const SendRequest& request) const noexcept;
  static std::byte* write(const Names& names, const SendRequest& request, size_t bytes,
                          std::byte* room, btl::Header* header) noexcept;
  [[nodiscard]] PeerState::Control& take_control() noexcept;
  void give_back(PeerState::Control* control) noexcept;
  void list(PeerState& peer) noexcept;
  bool flush(PeerState& peer) noexcept;

  core::Channel& channel_;
  Emitter* emitter_ = nullptr;
  PeerState* first_listed_ = nullptr;        // peers for which something waits
  PeerState::Control* spare_ = nullptr;      // some are made before memory is short
  std::deque<PeerState::Control> controls_;  // all of them
  bool signs_;
};

/// The header of a user's message.
[[nodiscard]] inline btl::Header header_for(const Envelope& to, uint8_t kind, uint32_t index,
                                            size_t payload) noexcept {
  return {0,
          kind,
          static_cast<uint16_t>(payload),
          wire::context_word(index, static_cast<uint32_t>(to.plane)),
          to.tag,
          static_cast<uint32_t>(to.communicator->rank())};
}

}  // namespace tern::pml
