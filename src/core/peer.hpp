// SPDX-License-Identifier: Apache-2.0
// Peer: another process (or this one) as this process knows it.
// Why: a peer is an index into Process's table keyed by (namespace, rank), never a world rank, so
// that spawned and connected processes fit in later. Lifetime: Process. Made at first contact;
// endpoint and pml state at the first message.
#pragma once

#include <cstdint>

namespace tern::btl {
class Endpoint;
}
namespace tern::pml {
struct PeerState;
}

namespace tern::core {

struct Peer {
  uint32_t index = 0;                 // in Process's table
  uint32_t nspace = 0;                // which namespace (0: the own one)
  uint32_t rank = 0;                  // in that namespace
  bool failed = false;                // known to be dead
  btl::Endpoint* endpoint = nullptr;  // owned by its btl; null before the first message
  pml::PeerState* pml = nullptr;      // owned by the pml; null before the first message
};

}  // namespace tern::core
