// SPDX-License-Identifier: Apache-2.0
// Channel: a lock, its progress, and the messages and collectives of the communicators on this
// channel.
// Why: with MPI_THREAD_MULTIPLE, threads on different communicators run without waiting for each
// other. Below that level a process has one channel. ContextId::channel_hint() assigns
// communicators to channels.
// Lifetime: Process; api::Runtime creates and ends pml and coll.
#pragma once

#include <cstdint>

#include "core/progress.hpp"

namespace tern::pml {
class Pml;
}
namespace tern::coll {
class Coll;
}

namespace tern::rma {
class Engine;
}

namespace tern::core {

class Process;
class Slabs;

/// Aligned because no two channels may share a written cache line.
struct alignas(64) Channel {
  Channel(Process& of, uint32_t which) noexcept : process(of), number(which) {}

  Process& process;
  const uint32_t number;  // index in Process
  Progress progress;
  pml::Pml* pml = nullptr;
  coll::Coll* coll = nullptr;
  rma::Engine* rma = nullptr;  // null: no window of the channel uses messages
  uint64_t refusals = 0;       // refusal messages of collectives (coll/engine/refusal.hpp)
  Slabs* slabs = nullptr;      // null: no other rank on this host
};

}  // namespace tern::core
