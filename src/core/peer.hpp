// SPDX-License-Identifier: Apache-2.0
// Peer: a process as seen by this process.
// Why: an index keyed by (namespace, rank), never a world rank, so spawned and connected processes
// can be added.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/wait_report.hpp"

namespace tern::core {

struct Peer {
  uint32_t index = 0;
  uint32_t nspace = 0;  // 0: this process's namespace
  uint32_t rank = 0;
  uint32_t there = 0;          // the number of this process's world at the peer
  bool shares_memory = false;  // of another world, by the transport of ranks of a host
};

/// mpirun knows the ranks of its own world only.
inline void report_wait_for(const Peer& peer, WaitReport* report) {
  if (peer.nspace == 0) report->wait_for(static_cast<int>(peer.rank));
}

class PeerTable {
 public:
  PeerTable();
  PeerTable(const PeerTable&) = delete;
  PeerTable& operator=(const PeerTable&) = delete;
  ~PeerTable();

  Peer& at(uint32_t index) {
    Peer* chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    return chunk != nullptr ? chunk[index % kChunk] : make_chunk(index)[index % kChunk];
  }

 private:
  static constexpr uint32_t kChunk = 256;
  static constexpr uint32_t kChunks = 1 << 16;
  Peer* make_chunk(uint32_t index);

  std::atomic<Peer*>* chunks_;
  std::mutex mutex_;
};

}  // namespace tern::core
