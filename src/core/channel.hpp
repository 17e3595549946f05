// SPDX-License-Identifier: Apache-2.0
// Channel: what threads use side by side: a lock with its progress, and the messages and
// collectives of the communicators that belong to it.
// Why: with MPI_THREAD_MULTIPLE, threads on different communicators do not wait for each other.
// Below that level there is one. Which communicator has which channel: ContextId::channel_hint().
// Lifetime: Process; pml and coll are made and ended by api::Runtime.
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

/// In cache lines of its own, like everything that one channel writes.
struct alignas(64) Channel {
  Channel(Process& of, uint32_t which) noexcept : process(of), number(which) {}

  Process& process;
  const uint32_t number;  // in Process
  Progress progress;
  pml::Pml* pml = nullptr;
  coll::Coll* coll = nullptr;
  rma::Engine* rma = nullptr;  // while windows of the channel have messages
  uint64_t refusals = 0;   // messages that say that a rank takes no part (coll/engine/refusal.hpp)
  Slabs* slabs = nullptr;  // null: this rank is alone on its host
};

}  // namespace tern::core
