// SPDX-License-Identifier: Apache-2.0
// Outbox: outgoing frames. Each peer has a queue of control messages and a queue of sends that
// found no space. Ordering: sends of one peer leave in call order, behind control messages.
#pragma once

#include <deque>

#include "pml/requests.hpp"

namespace tern::pml {

class Emitter {
 public:
  /// emit() returns false if the transport has no space. On true, the request may be gone.
  virtual bool emit(SendRequest& request) noexcept = 0;

 protected:
  ~Emitter() = default;
};

class Outbox {
 public:
  explicit Outbox(core::Channel& channel);
  void set_emitter(Emitter& emitter) noexcept { emitter_ = &emitter; }

  void send_control(PeerState& peer, uint8_t kind, const void* payload, size_t bytes) noexcept;
  template <class T>
  void send_control(PeerState& peer, uint8_t kind, const T& payload) noexcept {
    static_assert(sizeof(T) <= sizeof(PeerState::Control::payload));
    send_control(peer, kind, &payload, sizeof payload);
  }

  /// begin_frame() returns space for a message's first frame of `bytes`, behind the prefixes. The
  /// caller adds the kind to `header`.
  [[nodiscard]] std::byte* begin_frame(const SendRequest& request, size_t bytes,
                                       btl::Header* header) noexcept;

  /// Writes the names for a zero-copy frame. Returns the end of the names, at most kMostNames bytes
  /// on.
  static constexpr size_t kMostNames = sizeof(wire::LongContext) + sizeof(wire::TypeSignature);
  [[nodiscard]] std::byte* write_names(const SendRequest& request, std::byte* room,
                                       btl::Header* header) const noexcept;

  void enqueue(SendRequest& request) noexcept;
  bool remove(SendRequest& request) noexcept;

  void drop(PeerState& peer) noexcept;

  [[nodiscard]] bool empty() const noexcept { return first_listed_ == nullptr; }
  /// progress() returns the number of peers whose queues became empty.
  int progress() noexcept;
  /// Returns after `most_ns` at the latest.
  void wait_until_empty(int64_t most_ns = INT64_MAX) noexcept;
  [[nodiscard]] bool is_signing() const noexcept { return signs_; }

 private:
  struct Names {
    uint32_t index;  // the peer's index of the communicator; 0: unknown
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
  PeerState* first_listed_ = nullptr;
  PeerState::Control* spare_ = nullptr;
  std::deque<PeerState::Control> controls_;
  bool signs_;
};

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
