// SPDX-License-Identifier: Apache-2.0
// NetEndpoint: base of the endpoints between hosts; delivers frames in order.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/fate.hpp"
#include "btl/net/wire.hpp"

namespace tern::btl::net {

class NetEndpoint : public Endpoint {
 public:
  NetEndpoint(Sink& sink, const Destination& leads_to, const Caps& can, const Origin& own)
      : Endpoint(leads_to, can), sink_(sink), own_(own) {}

  Fate fate;

  /// arrive() returns false if the sequence number is invalid.
  [[nodiscard]] bool arrive(const WireHead& head, std::span<const std::byte> payload);
  /// has_lost_frame() is true if the next frame has been missing for `timeout_ns`, because
  /// reconnecting loses frames. Transports call it several times per timeout.
  [[nodiscard]] bool has_lost_frame(int64_t now_ns, int64_t timeout_ns) noexcept;

 protected:
  /// The caller calls count_sent() after sending.
  [[nodiscard]] WireHead head_for(const Header& header) const noexcept {
    WireHead head{header, own_};
    head.origin.sequence = next_sent_;
    return head;
  }
  void count_sent() noexcept { ++next_sent_; }
  [[nodiscard]] bool lacks_frame() const noexcept { return probe_is_ahead_ || !early_.empty(); }
  [[nodiscard]] uint32_t arrivals() const noexcept { return arrivals_; }

  Sink& sink_;

 private:
  struct Early {
    WireHead head;
    std::vector<std::byte> payload;
  };
  static constexpr uint16_t kMostEarly = 1024;
  void hand_on_early();
  void note_probe(uint16_t number) noexcept {
    const auto ahead = static_cast<uint16_t>(number - next_taken_);
    probed_ = number;
    probe_is_ahead_ = ahead != 0 && ahead <= kMostEarly;
  }

  const Origin own_;
  uint16_t next_sent_ = 0, next_taken_ = 0;
  bool probe_is_ahead_ = false;
  uint16_t probed_ = 0;
  uint16_t lacked_ = 0;
  int64_t lacked_since_ns_ = 0;
  uint32_t arrivals_ = 0;
  std::map<uint16_t, Early> early_;
};

}  // namespace tern::btl::net
