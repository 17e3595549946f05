// SPDX-License-Identifier: Apache-2.0
// IslandMap, IslandWatch: the groups of GPUs with peer access ("islands") of a communicator, all of
// equal size, and the watch over calls between islands.
// Why: less data goes through pinned memory. The watch exists because other islands would wait
// forever after a kernel of an island gave up.
// Lifetime: the whole communicator's CommStream. Threads: close() under the channel's lock; all
// else by the proxy.
#pragma once

#include <vector>

#include "coll/gpu/device_calls.hpp"
#include "core/communicator.hpp"
#include "stream/calls.hpp"
#include "stream/earlier_error.hpp"

namespace tern::stream {

/// Islands are ordered by lowest rank, places by rank.
struct IslandMap {
  /// `islands` comes from topo::islands_of(), by rank. The map is empty if islands do not help.
  IslandMap(const std::vector<int>& islands, int rank);
  [[nodiscard]] bool serves() const noexcept { return !here.empty(); }

  std::vector<int> here;    // ranks of this island
  std::vector<int> across;  // ranks at this place, one per island
  std::vector<int> island_of;
  std::vector<int> place_of;
  int rank = 0;
};

class IslandWatch {
 public:
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
  [[nodiscard]] bool is_due() noexcept;
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
  bool closed_ = false;  // guarded by the channel's lock
  bool ended_ = false;
  uint64_t moves_ = 0;
  int64_t still_since_ = 0;  // time of the last move between islands; 0: no error
};

}  // namespace tern::stream
