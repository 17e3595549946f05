// SPDX-License-Identifier: Apache-2.0
// IslandMap, IslandWatch: the ranks of each island (a group of ranks with mapped peer memory; all
// groups have one size), and the watch over the calls between islands.
// Why: the devices of an island do large collectives alone, and the proxy moves the share of each
// rank between islands (island_calls.cc), so less data goes through pinned memory. After a
// kernel of an island has given up, other islands wait in vain.
// Lifetime: of the whole communicator's CommStream. Threads: close() under the channel's lock, all
// other functions of the watch by the proxy. See: coll/gpu/README.md;
// tests/gpu/mpi/stream_islands.cc, stream_islands_late.cc.
#pragma once

#include <vector>

#include "coll/gpu/device_calls.hpp"
#include "core/communicator.hpp"
#include "stream/calls.hpp"
#include "stream/earlier_error.hpp"

namespace tern::stream {

/// Where ranks are: islands in the order of their lowest ranks, places in that of ranks.
struct IslandMap {
  /// `islands` by rank, as topo::islands_of() gives them. Empty where islands do not serve.
  IslandMap(const std::vector<int>& islands, int rank);
  [[nodiscard]] bool serves() const noexcept { return !here.empty(); }

  std::vector<int> here;       // ranks of the own island
  std::vector<int> across;     // ranks with the own place, one per island
  std::vector<int> island_of;  // by rank: the number of its island
  std::vector<int> place_of;   // by rank: in its island
  int rank = 0;
};

/// Ends the calls between islands after a failure.
class IslandWatch {
 public:
  /// `team`, `here`: of the part within the island. `across`, `across_calls`: of the part between
  /// islands.
  IslandWatch(core::Communicator& whole, EarlierError& error, coll::GpuTeam& team,
              coll::DeviceCalls& here, core::Communicator& across, const Calls& across_calls)
      : channel_(whole.channel()),
        whole_(whole),
        error_(error),
        team_(team),
        here_(here),
        across_(across),
        across_calls_(across_calls) {}

  void watch() noexcept;
  /// Whether watch() has something to do.
  [[nodiscard]] bool is_due() noexcept;
  /// The communicator has ended.
  void close() noexcept { closed_ = true; }

 private:
  void tell_ranks() noexcept;

  core::Channel& channel_;
  core::Communicator& whole_;  // ends before the watch
  EarlierError& error_;
  coll::GpuTeam& team_;
  coll::DeviceCalls& here_;
  core::Communicator& across_;
  const Calls& across_calls_;
  bool closed_ = false;  // under the channel's lock
  bool ended_ = false;
  uint64_t moves_ = 0;
  int64_t still_since_ = 0;  // begin of the time without a move between islands; 0: no error
};

}  // namespace tern::stream
