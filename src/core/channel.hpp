// SPDX-License-Identifier: Apache-2.0
// Channel: a lock, with progress, messages and collectives of the communicators on this channel.
// Why: with MPI_THREAD_MULTIPLE, threads on different communicators run independently.
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

/// The alignment keeps channels from sharing a written cache line.
struct alignas(64) Channel {
  Channel(Process& of, uint32_t which) noexcept : process(of), number(which) {}

  Process& process;
  const uint32_t number;
  Progress progress;
  pml::Pml* pml = nullptr;
  coll::Coll* coll = nullptr;
  rma::Engine* rma = nullptr;
  uint64_t refusals = 0;
  Slabs* slabs = nullptr;
};

}  // namespace tern::core
