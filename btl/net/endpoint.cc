// SPDX-License-Identifier: Apache-2.0
// NetEndpoint: the order of frames.
#include "btl/net/endpoint.hpp"

#include <cerrno>

#include "base/error.hpp"

namespace tern::btl::net {
namespace {

// Frames that come before their turn, where the network has several ways.
constexpr uint16_t kMostEarly = 1024;

}  // namespace

bool NetEndpoint::arrive(const WireHead& head, std::span<const std::byte> payload) {
  if (TERN_UNLIKELY(has_failed())) return true;
  ++arrivals_;
  if (TERN_UNLIKELY(head.header.mark == kProbe)) return true;
  const auto ahead = static_cast<uint16_t>(head.origin.sequence - next_taken_);
  if (TERN_UNLIKELY(ahead != 0)) {
    if (ahead > kMostEarly) return false;
    return early_.try_emplace(head.origin.sequence, Early{head, {payload.begin(), payload.end()}})
        .second;
  }
  ++next_taken_;
  sink_.arrived(*this, Frame{head.header, payload.data(), payload.size()});
  if (TERN_UNLIKELY(!early_.empty())) hand_on_early();
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

int NetEndpoint::get(const iovec*, size_t, const iovec*, size_t) noexcept { return ENOSYS; }
int NetEndpoint::put(const iovec*, size_t, const iovec*, size_t) noexcept { return ENOSYS; }

}  // namespace tern::btl::net
