// SPDX-License-Identifier: Apache-2.0
// Peer: another process (or this one) as this process knows it.
// Why: a peer is an index into Process's table keyed by (namespace, rank), never a world rank, so that spawned
// and connected processes fit in later.
// Lifetime: Process. Made at first contact; endpoint and pml state at the first message.
#pragma once

#include <cstdint>

namespace tern::btl {
class Endpoint;
}

namespace tern::core {

struct Peer {
  uint32_t index = 0;       // in Process's table
  uint32_t nspace = 0;      // which namespace (0: the own one)
  uint32_t rank = 0;        // in that namespace
  bool failed = false;      // known to be dead
  btl::Endpoint* endpoint = nullptr;  // owned by its btl; null before the first message
  uint32_t next_send = 0;   // pml: sequence number of the next message to it
};

}  // namespace tern::core
