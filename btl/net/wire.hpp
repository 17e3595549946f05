// SPDX-License-Identifier: Apache-2.0
// What stands before each frame between hosts. Travels as it is.
// Why: the libraries below do not say who sent a frame, nor do they all keep the order.
#pragma once

#include <cstdint>

#include "btl/btl.hpp"

namespace tern::btl::net {

/// Who sent a frame, and its place among those of its endpoint.
struct Origin {
  uint32_t cookie;  // the receiver's, from its address: a stray of another job has another
  uint32_t rank;
  uint16_t sequence;  // of the frame, at its endpoint
  uint8_t channel;
  uint8_t nspace;
};
/// What a message of the library begins with; the payload follows. (UCX's own place for heads is
/// dearer: over TCP a message of two parts costs a scattered write.)
struct WireHead {
  Header header;
  Origin origin;
};
static_assert(sizeof(WireHead) == 28);

/// Header::mark of a frame that only asks whether the way still leads there. It takes no number,
/// but has that of the next frame.
inline constexpr uint8_t kProbe = 1;

}  // namespace tern::btl::net
