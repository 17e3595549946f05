// SPDX-License-Identifier: Apache-2.0
// Process: all state of one rank.
// Why: N ranks can be N threads of one unit test; nothing else is mutable and global.
// Lifetime: made and ended by api::Instance, which also owns the rooms above that hang from it
// (boot, pml, coll); they are named here by forward declaration only. Threads: as each member says.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/explain.hpp"
#include "base/params.hpp"
#include "core/handle.hpp"
#include "core/progress.hpp"

namespace tern::boot {
class Boot;
}
namespace tern::pml {
class Pml;
}
namespace tern::coll {
class Coll;
}

namespace tern::core {

class Communicator;
class ErrorHandler;
struct Peer;
class PredefinedTypes;
class PredefinedOps;

/// How many threads may call MPI, as MPI_Init_thread has granted.
enum class ThreadLevel : int { kSingle, kFunneled, kSerialized, kMultiple };

class Process {
 public:
  Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  Params params;
  Explain explain;
  HandleTable handles;
  Progress progress;

  int world_rank = 0;  // in the namespace that launched this process
  int world_size = 1;
  int node_size = 1;            // ranks of that namespace on this host, this one included
  bool oversubscribed = false;  // more ranks than cores here: nobody spins
  ThreadLevel thread_level = ThreadLevel::kSingle;
  bool checks = true;  // argument checks of the C API

  Communicator* world = nullptr;
  Communicator* self = nullptr;

  boot::Boot* boot = nullptr;
  pml::Pml* pml = nullptr;
  coll::Coll* coll = nullptr;

  /// The peer of this index (for the own namespace: the world rank); made at first use.
  Peer& peer(uint32_t index) {
    Peer* found = index < peers_.size() ? peers_[index] : nullptr;
    return found != nullptr ? *found : make_peer(index);
  }
  /// The same, but nullptr where there was no contact yet.
  [[nodiscard]] Peer* known_peer(uint32_t index) const noexcept {
    return index < peers_.size() ? peers_[index] : nullptr;
  }
  [[nodiscard]] const std::vector<Peer*>& peers() const noexcept { return peers_; }

  /// The next context counter of this process (see core/communicator.hpp).
  uint32_t next_context_counter() noexcept { return ++context_counter_; }
  /// The next local context index; 0 to 15 are reserved (world, self). They come again after
  /// kContextIndices: context_indices_repeat() tells whether they may be in use.
  uint32_t next_context_index() noexcept {
    if (++context_index_ == kContextIndices) {
      context_index_ = kFirstContextIndex;
      context_indices_repeat_ = true;
    }
    return context_index_;
  }
  [[nodiscard]] bool context_indices_repeat() const noexcept { return context_indices_repeat_; }
  static constexpr uint32_t kFirstContextIndex = 16;
  static constexpr uint32_t kContextIndices = 1U << 30;  // a header has two bits more for the plane

 private:
  Peer& make_peer(uint32_t index);

  std::vector<Peer*> peers_;
  uint32_t context_counter_ = 0;
  uint32_t context_index_ = kFirstContextIndex - 1;
  bool context_indices_repeat_ = false;
};

}  // namespace tern::core
