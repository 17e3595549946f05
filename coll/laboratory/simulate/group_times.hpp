// SPDX-License-Identifier: Apache-2.0
// GroupTimes: simulated time of simultaneous groups, for any placement of the ranks. Groups without
// a common link run apart, and times are kept: a swap of two ranks runs the touched groups and
// those on shared links again.
// Cost: routes and look-ups of all groups, and the runs of new ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/laboratory/simulate/pattern.hpp"
#include "coll/laboratory/simulate/workload.hpp"
#include "coll/topology/routes.hpp"

namespace tern::coll {

/// A machine with ranks on chosen GPUs. Routes are found once.
class PlacedMachine {
 public:
  explicit PlacedMachine(const Topology& machine);
  PlacedMachine(const PlacedMachine&) = delete;
  PlacedMachine& operator=(const PlacedMachine&) = delete;

  /// Rank r on GPU gpus[r]; valid until the next call.
  [[nodiscard]] const Topology& with(const std::vector<int32_t>& gpus);
  [[nodiscard]] Routes& routes() noexcept { return routes_; }
  /// The lowest GPU of each GPU's host.
  [[nodiscard]] const std::vector<int64_t>& hosts() const noexcept { return hosts_; }

 private:
  const Topology& machine_;
  Topology view_;
  Routes routes_;
  Route route_;
  std::vector<int32_t> gpus_;
  std::vector<int64_t> hosts_;
};

/// Pipelines of more than `most_passes` passes are continued from most_passes and half of it.
[[nodiscard]] double continued_time(const Pattern& pattern, const Topology& topology,
                                    const Algorithm& row, double bytes, int32_t most_passes);

class GroupTimes {
 public:
  /// `groups` outlive the object.
  GroupTimes(const Algorithm& row, const WorkloadCall& call, const Groups& groups,
             PlacedMachine& machine, int32_t most_passes);
  /// us until all groups have ended, rank r on GPU places[r]. Infinity: the row does not serve a
  /// group.
  [[nodiscard]] double time(const std::vector<int32_t>& places);
  /// Steps simulated so far.
  [[nodiscard]] int64_t work() const noexcept { return work_; }

 private:
  using Key = std::vector<int32_t>;
  struct KeyHash {
    size_t operator()(const Key& key) const noexcept;
  };
  struct Placed {
    const Pattern* pattern = nullptr;  // null: not served
    std::vector<int32_t> links;
  };

  [[nodiscard]] const Placed& placed(const Key& gpus);
  [[nodiscard]] const Pattern* pattern_on(const Key& gpus);
  [[nodiscard]] double run(const std::vector<const Pattern*>& parts, const Key& gpus);

  const Algorithm& row_;
  const WorkloadCall call_;
  const Groups& groups_;
  PlacedMachine& machine_;
  const int32_t most_passes_;
  std::map<std::vector<std::vector<int32_t>>, std::unique_ptr<Pattern>> patterns_;  // by levels
  std::unordered_map<Key, Placed, KeyHash> placed_;
  std::unordered_map<Key, double, KeyHash> times_;
  int64_t work_ = 0;
};

}  // namespace tern::coll
