// SPDX-License-Identifier: Apache-2.0
// WireHead: the head of each frame between hosts, sent byte for byte.
// Why: UCX and libfabric do not report the sender, nor do all networks keep the order.
#pragma once

#include <cstdint>

#include "btl/btl.hpp"

namespace tern::btl::net {

struct Origin {
  uint32_t cookie;  // identifies the receiver, and stray frames of other jobs
  uint32_t rank;
  uint16_t sequence;
  uint8_t channel;
  uint8_t nspace;
};
/// The head is part of the message, because UCX's separate header costs a scattered write over TCP.
struct WireHead {
  Header header;
  Origin origin;
};
static_assert(sizeof(WireHead) == 28);

/// A probe tests the connection and carries the number of the next frame.
inline constexpr uint8_t kProbe = 1;
/// Two byes end the frames to a process of another world. The second answers the peer's first:
/// after the peer's second, this end may close, as the peer expects the end.
inline constexpr uint8_t kBye = 2;

}  // namespace tern::btl::net
