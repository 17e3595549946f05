// SPDX-License-Identifier: Apache-2.0
// Process: the table of peers.
#include "core/process.hpp"

#include "core/peer.hpp"

namespace tern::core {

Process::Process() = default;

Process::~Process() {
  for (Peer* peer : peers_) delete peer;
}

Peer& Process::make_peer(uint32_t index) {
  if (index >= peers_.size()) peers_.resize(index + 1, nullptr);
  Peer* peer = new Peer;
  peer->index = index;
  peer->rank = index;
  peers_[index] = peer;
  return *peer;
}

}  // namespace tern::core
