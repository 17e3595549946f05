// SPDX-License-Identifier: Apache-2.0
// Levels: ranks of a communicator grouped by hosts, and groups within hosts. Why: the only fact
// about the machine used by two-level schedules. Lifetime: shared by equal communicators, kept by
// Coll. Threads: immutable. See: TERN_COLL_LEVELS, coll/algorithms/tree.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern::coll {

struct Levels {
  /// groups[l][r]: the lowest rank of r's group on level l. Level 0 is outermost; each group lies
  /// within a group of the previous level.
  std::vector<std::vector<int32_t>> groups;

  bool operator==(const Levels&) const = default;
  [[nodiscard]] int32_t ranks() const noexcept { return static_cast<int32_t>(groups[0].size()); }
  /// The members of the outermost group of `rank`, ascending.
  [[nodiscard]] std::vector<int32_t> host_of(int32_t rank) const;
  /// The lowest rank of each outermost group, ascending.
  [[nodiscard]] std::vector<int32_t> leaders() const;
  /// Whether the outermost groups have equal sizes.
  [[nodiscard]] bool equal_hosts() const;
  /// Whether each outermost group has consecutive ranks.
  [[nodiscard]] bool hosts_in_order() const;
  /// "2 hosts of 4 ranks", "3 hosts of 2 to 5 ranks, in 6 parts", for messages.
  [[nodiscard]] std::string text() const;

  /// From group names per level, outermost first. Drops uninformative levels (one group, single
  /// ranks, or equal to the previous level); may return no level.
  [[nodiscard]] static Levels from_names(const std::vector<std::vector<int64_t>>& names);
  /// Groups of consecutive ranks of these sizes, outermost first: {8, 2} are hosts of 8, in pairs.
  [[nodiscard]] static Levels from_sizes(int32_t ranks, const std::vector<int32_t>& sizes);
  [[nodiscard]] bool empty() const noexcept { return groups.empty(); }
};

struct RankRun {
  int32_t first, count;
};
/// Splits the list into runs of consecutive ranks.
[[nodiscard]] std::vector<RankRun> runs_of(const std::vector<int32_t>& ranks);

}  // namespace tern::coll
