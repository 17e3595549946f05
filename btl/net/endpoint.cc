// SPDX-License-Identifier: Apache-2.0
// NetEndpoint: the order of frames.
#include "btl/net/endpoint.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace tern::btl::net {

bool NetEndpoint::arrive(const WireHead& head, std::span<const std::byte> payload) {
  if (TERN_UNLIKELY(fate.dead_locked())) return true;
  ++arrivals_;
  if (TERN_UNLIKELY(head.header.mark == kProbe)) {
    note_probe(head.origin.sequence);
    return true;
  }
  talked_ = true;
  const auto ahead = static_cast<uint16_t>(head.origin.sequence - next_taken_);
  if (TERN_UNLIKELY(ahead != 0)) {
    if (ahead > kMostEarly) return false;
    return early_.try_emplace(head.origin.sequence, Early{head, {payload.begin(), payload.end()}})
        .second;
  }
  ++next_taken_;
  hand_on(head.header, payload);
  if (TERN_UNLIKELY(!early_.empty())) hand_on_early();
  if (TERN_UNLIKELY(probe_is_ahead_)) note_probe(probed_);
  return true;
}

void NetEndpoint::hand_on(const Header& header, std::span<const std::byte> payload) {
  if (TERN_UNLIKELY(header.mark == kBye))
    ++heard_byes_;
  else
    sink_.arrived(*this, Frame{header, payload.data(), payload.size()});
}

bool NetEndpoint::say_bye() noexcept {
  if (fate.dead_locked() || !talked_) return true;
  constexpr int kByes = 2;
  while (said_byes_ < kByes && said_byes_ <= heard_byes_ && send({kBye, 0, 0, 0, 0, 0}, nullptr))
    ++said_byes_;
  return said_byes_ == kByes && heard_byes_ >= kByes;
}

void NetEndpoint::hand_on_early() {
  for (auto next = early_.find(next_taken_); next != early_.end();
       next = early_.find(next_taken_)) {
    const auto frame = early_.extract(next);
    ++next_taken_;
    const Early& early = frame.mapped();
    hand_on(early.head.header, early.payload);
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

void NetEndpoint::look_after(int64_t now_ns, int64_t timeout_ns) noexcept {
  constexpr int64_t kProbes = 8, kLost = 2, kRarestProbeNs = 1'500'000'000;
  if (fate.dead_locked()) return;
  if (has_lost_frame(now_ns, timeout_ns / kLost))
    return fail("a frame was lost: the library reconnected without resending the frame");
  const bool waits = is_waiting() || lacks_frame();
  const bool moved = seen_moved_ != moved_ || seen_arrivals_ != arrivals_;
  seen_moved_ = moved_;
  seen_arrivals_ = arrivals_;
  if (moved || since_ns_ == 0 || waits != waited_ || (waits && host_answers())) since_ns_ = now_ns;
  waited_ = waits;
  const int64_t silent_ns = now_ns - since_ns_;
  if (const char* const why = lost_by(silent_ns, timeout_ns); why != nullptr) return fail(why);
  if (silent_ns >= timeout_ns && waits)
    return fail(strf("no sign of its host for %lld ms; TERN_NET_TIMEOUT sets the limit",
                     static_cast<long long>(timeout_ns / 1'000'000)));
  if (!waits && silent_ns < std::min(timeout_ns / kProbes, kRarestProbeNs)) return;
  if (!waits) since_ns_ = now_ns;
  probe();
}

}  // namespace tern::btl::net
