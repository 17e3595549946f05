// SPDX-License-Identifier: Apache-2.0
// NetEndpoint: what endpoints between hosts have in common: frames have numbers, and are handed on
// in their order.
// Lifetime: Network. Threads: under the channel's lock.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "btl/net/wire.hpp"

namespace tern::btl::net {

class NetEndpoint : public Endpoint {
 public:
  /// `own`: what frames say of this end, with the peer's cookie.
  NetEndpoint(Sink& sink, const Destination& leads_to, const Caps& can, const Origin& own)
      : Endpoint(leads_to, can), sink_(sink), own_(own) {}

  bool peek(Frame*) noexcept override { return false; }
  void pop() noexcept override {}
  int get(const iovec*, size_t, const iovec*, size_t) noexcept override;
  int put(const iovec*, size_t, const iovec*, size_t) noexcept override;

  /// A frame that came: hands it on in its turn, with those that waited for it. False where it
  /// cannot be in its turn.
  [[nodiscard]] bool arrive(const WireHead& head, std::span<const std::byte> payload);
  [[nodiscard]] virtual bool has_failed() const noexcept = 0;

 protected:
  /// With the number of the next frame; count_sent() once it is on its way.
  [[nodiscard]] WireHead head_for(const Header& header) const noexcept {
    WireHead head{header, own_};
    head.origin.sequence = next_sent_;
    return head;
  }
  void count_sent() noexcept { ++next_sent_; }
  /// Whether a frame is missing: later ones are here.
  [[nodiscard]] bool lacks_frame() const noexcept { return !early_.empty(); }
  /// How many frames came, probes as well; goes round.
  [[nodiscard]] uint32_t arrivals() const noexcept { return arrivals_; }

  Sink& sink_;

 private:
  struct Early {
    WireHead head;
    std::vector<std::byte> payload;
  };
  void hand_on_early();

  const Origin own_;
  uint16_t next_sent_ = 0, next_taken_ = 0;
  uint32_t arrivals_ = 0;
  std::map<uint16_t, Early> early_;  // by number: never many
};

}  // namespace tern::btl::net
