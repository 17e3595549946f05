// SPDX-License-Identifier: Apache-2.0
// Levels: ranks of a communicator grouped by hosts, and groups within hosts: the only fact about
// the machine used by two-level schedules. Lifetime: shared by equal communicators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern::coll {

struct Levels {
  /// groups[l][r]: the lowest rank of r's group on level l, within its group on level l - 1.
  std::vector<std::vector<int32_t>> groups;

  bool operator==(const Levels&) const = default;
  [[nodiscard]] int32_t ranks() const noexcept { return static_cast<int32_t>(groups[0].size()); }
  /// host_of() lists the members of the rank's outermost group, ascending.
  [[nodiscard]] std::vector<int32_t> host_of(int32_t rank) const;
  /// leaders() lists the hosts' lowest ranks, ascending.
  [[nodiscard]] std::vector<int32_t> leaders() const;
  [[nodiscard]] bool equal_hosts() const;
  /// If hosts_in_order(), each host has consecutive ranks.
  [[nodiscard]] bool hosts_in_order() const;
  /// text() returns "3 hosts of 2 to 5 ranks, in 6 parts".
  [[nodiscard]] std::string text() const;

  /// Group names begin with the outermost level. Uninformative levels are dropped.
  [[nodiscard]] static Levels from_names(const std::vector<std::vector<int64_t>>& names);
  /// Groups are runs of consecutive ranks, outermost first: {8, 2} are hosts of 8, in pairs.
  [[nodiscard]] static Levels from_sizes(int32_t ranks, const std::vector<int32_t>& sizes);
  [[nodiscard]] bool empty() const noexcept { return groups.empty(); }
};

struct RankRun {
  int32_t first, count;
};
/// A RankRun holds consecutive ranks.
[[nodiscard]] std::vector<RankRun> runs_of(const std::vector<int32_t>& ranks);

}  // namespace tern::coll
