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
  [[nodiscard]] std::vector<int32_t> host_of(int32_t rank) const;
  [[nodiscard]] std::vector<int32_t> leaders() const;
  [[nodiscard]] bool equal_hosts() const;
  [[nodiscard]] bool equal_groups() const;  // on each level
  [[nodiscard]] bool hosts_in_order() const;
  [[nodiscard]] std::string text() const;

  /// from_names() drops uninformative levels; names begin with the outermost level.
  [[nodiscard]] static Levels from_names(const std::vector<std::vector<int64_t>>& names);
  /// Groups are runs of consecutive ranks: {8, 2} are hosts of 8, in pairs.
  [[nodiscard]] static Levels from_sizes(int32_t ranks, const std::vector<int32_t>& sizes);
  [[nodiscard]] bool empty() const noexcept { return groups.empty(); }
};

struct RankRun {
  int32_t first, count;
};
[[nodiscard]] std::vector<RankRun> runs_of(const std::vector<int32_t>& ranks);
/// The ranks of `count` hosts from the host of leaders[first] on, modulo the number of leaders.
[[nodiscard]] std::vector<RankRun> runs_of_hosts(const Levels& levels,
                                                 const std::vector<int32_t>& leaders, int32_t first,
                                                 int32_t count);

}  // namespace tern::coll
