// SPDX-License-Identifier: Apache-2.0
// WireHead: the head of each frame between hosts, sent byte for byte.
// Why: UCX and libfabric do not report the sender, and not all networks keep the order.
#pragma once

#include <cstdint>

#include "btl/btl.hpp"

namespace tern::btl::net {

/// Sender of a frame, and sequence number at the endpoint.
struct Origin {
  uint32_t cookie;  // from the receiver's address; identifies stray frames of other jobs
  uint32_t rank;
  uint16_t sequence;
  uint8_t channel;
  uint8_t nspace;
};
/// Precedes the payload in the library's message. (UCX has a separate header argument, but over TCP
/// a message of two parts costs a scattered write.)
struct WireHead {
  Header header;
  Origin origin;
};
static_assert(sizeof(WireHead) == 28);

/// Header::mark of a probe, which tests the connection. A probe carries the number of the next
/// frame without using that number up.
inline constexpr uint8_t kProbe = 1;

}  // namespace tern::btl::net
