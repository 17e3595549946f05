// SPDX-License-Identifier: Apache-2.0
// Levels: which ranks of a communicator are near each other: hosts, and groups within them.
// Why: schedules of two-level algorithms depend on it, and on nothing else of the machine: hosts
// that boot tells, parts of a host, a description in a test are all the same. Lifetime: one for all
// communicators that look alike, kept by Coll. Threads: immutable.
// See: TERN_COLL_LEVELS, coll/algorithms/tree.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern::coll {

struct Levels {
  /// groups[l][r] is the lowest rank of the group that rank r is in on level l; level 0 is the
  /// outermost, and each group lies in one of the level before.
  std::vector<std::vector<int32_t>> groups;

  bool operator==(const Levels&) const = default;
  [[nodiscard]] int32_t ranks() const noexcept { return static_cast<int32_t>(groups[0].size()); }
  /// The members of the outermost group of `rank`, ascending.
  [[nodiscard]] std::vector<int32_t> host_of(int32_t rank) const;
  /// The lowest rank of each outermost group, ascending.
  [[nodiscard]] std::vector<int32_t> leaders() const;
  /// Whether the outermost groups are all of one size.
  [[nodiscard]] bool equal_hosts() const;
  /// Whether each of them is of consecutive ranks.
  [[nodiscard]] bool hosts_in_order() const;
  /// "2 hosts of 4 ranks", "3 hosts of 2 to 5 ranks, in 6 parts" for messages.
  [[nodiscard]] std::string text() const;

  /// From any names of the groups on each level, outermost first. A level that tells nothing (one
  /// group, singles, or the same as the level before) is left out; without any there are no levels.
  [[nodiscard]] static Levels from_names(const std::vector<std::vector<int64_t>>& names);
  /// Groups of consecutive ranks of these sizes, outermost first: {8, 2} are hosts of 8 in pairs.
  [[nodiscard]] static Levels from_sizes(int32_t ranks, const std::vector<int32_t>& sizes);
  [[nodiscard]] bool empty() const noexcept { return groups.empty(); }
};

/// Consecutive ranks.
struct RankRun {
  int32_t first, count;
};
/// The list cut where the next rank is not the one after.
[[nodiscard]] std::vector<RankRun> runs_of(const std::vector<int32_t>& ranks);

}  // namespace tern::coll
