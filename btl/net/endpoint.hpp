// SPDX-License-Identifier: Apache-2.0
// NetEndpoint: what endpoints between hosts have in common: frames have numbers, and are handed on
// in their order.
// Lifetime: Network. Threads: under the channel's lock.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/fate.hpp"
#include "btl/net/wire.hpp"

namespace tern::btl::net {

class NetEndpoint : public Endpoint {
 public:
  /// `own`: what frames say of this end, with the peer's cookie.
  NetEndpoint(Sink& sink, const Destination& leads_to, const Caps& can, const Origin& own)
      : Endpoint(leads_to, can), sink_(sink), own_(own) {}

  Fate fate;  // dead: the peer is lost, and frames to and from it are dropped

  /// A frame that came: hands it on in its turn, with those that waited for it. False where it
  /// cannot be in its turn.
  [[nodiscard]] bool arrive(const WireHead& head, std::span<const std::byte> payload);
  /// Whether the frame whose turn it is was sent, and has not come for `timeout_ns`: a library that
  /// connects again by itself loses what was under way. Asked several times in that.
  [[nodiscard]] bool has_lost_frame(int64_t now_ns, int64_t timeout_ns) noexcept;

 protected:
  /// With the number of the next frame; count_sent() once it is on its way.
  [[nodiscard]] WireHead head_for(const Header& header) const noexcept {
    WireHead head{header, own_};
    head.origin.sequence = next_sent_;
    return head;
  }
  void count_sent() noexcept { ++next_sent_; }
  /// Whether a frame is missing: later ones are here, or a probe that came behind it.
  [[nodiscard]] bool lacks_frame() const noexcept { return probe_is_ahead_ || !early_.empty(); }
  /// How many frames came, probes as well; goes round.
  [[nodiscard]] uint32_t arrivals() const noexcept { return arrivals_; }

  Sink& sink_;

 private:
  struct Early {
    WireHead head;
    std::vector<std::byte> payload;
  };
  /// Frames that come before their turn, where the network has several ways.
  static constexpr uint16_t kMostEarly = 1024;
  void hand_on_early();
  void note_probe(uint16_t number) noexcept {
    const auto ahead = static_cast<uint16_t>(number - next_taken_);
    probed_ = number;
    probe_is_ahead_ = ahead != 0 && ahead <= kMostEarly;
  }

  const Origin own_;
  uint16_t next_sent_ = 0, next_taken_ = 0;
  bool probe_is_ahead_ = false;  // of next_taken_; its number:
  uint16_t probed_ = 0;
  // Of has_lost_frame().
  uint16_t lacked_ = 0;
  int64_t lacked_since_ns_ = 0;
  uint32_t arrivals_ = 0;
  std::map<uint16_t, Early> early_;  // by number: never many
};

}  // namespace tern::btl::net
