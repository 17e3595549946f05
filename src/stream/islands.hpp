// SPDX-License-Identifier: Apache-2.0
// Islands: enqueued collectives of ranks whose GPUs reach each other's memory in groups of one
// size: what is large is done by the devices alone within each island, and by the proxy between
// islands, each rank for its share of the data. Why: so much less goes through pinned memory.
// Order: the steps stand in the stream one behind the other; a rank that cannot put one there
// takes no part in those behind it, which their ranks are told. Where data of an island will never
// come, or is undefined, ranks of all islands hear of it, and none waits for it between islands.
// Lifetime: of the communicator's CommStream. See: coll/gpu/README.md;
// tests/gpu/mpi/stream_islands.cc, stream_islands_late.cc.
#pragma once

#include <memory>
#include <vector>

#include "coll/coll.hpp"
#include "coll/engine/operation.hpp"
#include "stream/comm_stream.hpp"

namespace tern::stream {

/// Where ranks are: islands in the order of their lowest ranks, places in that of ranks.
struct IslandMap {
  /// `islands` by rank, as topo::islands_of() gives them. Without islands where they do not serve.
  IslandMap(const std::vector<int>& islands, int rank);
  [[nodiscard]] bool serves() const noexcept { return !here.empty(); }

  std::vector<int> here;       // ranks of this one's island
  std::vector<int> across;     // those with its place in theirs
  std::vector<int> island_of;  // by rank: the number of its island
  std::vector<int> place_of;   // by rank: in its island
  int rank = 0;
};

class Islands {
 public:
  Islands(CommStream& whole, IslandMap map, std::shared_ptr<CommStream> here,
          std::shared_ptr<CommStream> across)
      : whole_(whole),
        map_(std::move(map)),
        here_(std::move(here)),
        across_(std::move(across)),
        team_(*coll::StreamCollectives::team_of(here_->shadow())),
        channel_(here_->shadow().channel()) {}

  /// Alike on all ranks.
  [[nodiscard]] static bool takes(const coll::Operation& operation) noexcept;
  /// An error class with fail() text.
  [[nodiscard]] int enqueue(const coll::Operation& operation, const char* name);
  /// An error where ranks have told that some data is wrong. No lock is held.
  [[nodiscard]] int fail_if_forsaken() const noexcept;
  /// This rank takes no part in a collective: see stream::refuse().
  void refuse(int code) noexcept;
  void close() noexcept;

  // The proxy's.
  /// Ends what is under way between islands where it is of no use any more.
  void watch() noexcept;
  /// Whether watch() has something to do.
  [[nodiscard]] bool is_due() noexcept;
  [[nodiscard]] CommStream& here() const noexcept { return *here_; }
  [[nodiscard]] CommStream& across() const noexcept { return *across_; }

 private:
  [[nodiscard]] int allreduce(const coll::Operation& operation, const char* name);
  [[nodiscard]] int bcast(const coll::Operation& operation, const char* name);

  CommStream& whole_;  // which has this
  const IslandMap map_;
  const std::shared_ptr<CommStream> here_, across_;
  const coll::GpuTeam& team_;  // which `here` has
  core::Channel& channel_;
  bool closed_ = false;  // under the channel's lock
  // The proxy's own:
  bool ended_ = false;
  uint64_t moves_ = 0;
  int64_t still_since_ = 0;  // that nothing moves between islands; 0: all is well
};

}  // namespace tern::stream
