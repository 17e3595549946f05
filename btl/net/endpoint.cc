// SPDX-License-Identifier: Apache-2.0
// NetEndpoint: the order of frames.
#include "btl/net/endpoint.hpp"

#include "base/error.hpp"

namespace tern::btl::net {

bool NetEndpoint::arrive(const WireHead& head, std::span<const std::byte> payload) {
  if (TERN_UNLIKELY(fate.dead_locked())) return true;
  ++arrivals_;
  if (TERN_UNLIKELY(head.header.mark == kProbe)) {
    note_probe(head.origin.sequence);
    return true;
  }
  const auto ahead = static_cast<uint16_t>(head.origin.sequence - next_taken_);
  if (TERN_UNLIKELY(ahead != 0)) {
    if (ahead > kMostEarly) return false;
    return early_.try_emplace(head.origin.sequence, Early{head, {payload.begin(), payload.end()}})
        .second;
  }
  ++next_taken_;
  sink_.arrived(*this, Frame{head.header, payload.data(), payload.size()});
  if (TERN_UNLIKELY(!early_.empty())) hand_on_early();
  if (TERN_UNLIKELY(probe_is_ahead_)) note_probe(probed_);
  return true;
}

void NetEndpoint::hand_on_early() {
  for (auto next = early_.find(next_taken_); next != early_.end();
       next = early_.find(next_taken_)) {
    const auto frame = early_.extract(next);
    ++next_taken_;
    const Early& early = frame.mapped();
    sink_.arrived(*this, Frame{early.head.header, early.payload.data(), early.payload.size()});
  }
}

bool NetEndpoint::has_lost_frame(int64_t now_ns, int64_t timeout_ns) noexcept {
  if (!lacks_frame() || lacked_since_ns_ == 0 || lacked_ != next_taken_) {
    lacked_ = next_taken_;
    lacked_since_ns_ = lacks_frame() ? now_ns : 0;
    return false;
  }
  return now_ns - lacked_since_ns_ >= timeout_ns;
}

}  // namespace tern::btl::net
