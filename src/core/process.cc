// SPDX-License-Identifier: Apache-2.0
// Process: its channels and table of peers.
#include "core/process.hpp"

#include <cstdlib>

#include "base/error.hpp"
#include "core/peer.hpp"
#include "mpi.h"

namespace tern::core {

PeerTable::PeerTable()
    : chunks_(static_cast<std::atomic<Peer*>*>(std::calloc(kChunks, sizeof *chunks_))) {
  if (chunks_ == nullptr) throw Error(MPI_ERR_NO_MEM, "no memory for the table of peers");
}

PeerTable::~PeerTable() {
  for (uint32_t i = 0; i < kChunks; ++i) delete[] chunks_[i].load(std::memory_order_relaxed);
  std::free(chunks_);
}

Peer* PeerTable::make_chunk(uint32_t index) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::atomic<Peer*>& place = chunks_[index / kChunk];
  if (place.load(std::memory_order_relaxed) == nullptr) {
    auto* chunk = new Peer[kChunk];
    const uint32_t first = index / kChunk * kChunk;
    for (uint32_t i = 0; i < kChunk; ++i) chunk[i] = {first + i, 0, first + i, 0, false};
    place.store(chunk, std::memory_order_release);
  }
  return place.load(std::memory_order_relaxed);
}

Process::Process() { set_channels(1); }

Process::~Process() = default;

void Process::set_channels(uint32_t count) {
  channels_.clear();
  for (uint32_t number = 0; number < count; ++number)
    channels_.push_back(std::make_unique<Channel>(*this, number));
  for (auto& channel : channels_) {
    std::vector<Progress*> others;
    for (auto& other : channels_)
      if (other != channel) others.push_back(&other->progress);
    channel->progress.set_others(std::move(others), waits);
  }
}

}  // namespace tern::core
