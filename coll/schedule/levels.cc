// SPDX-License-Identifier: Apache-2.0
#include "coll/schedule/levels.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"

namespace tern::coll {
namespace {

using Level = std::vector<int32_t>;

/// Names become lowest ranks, within groups of the outer level.
Level canonical(const std::vector<int64_t>& names, const Level* outer) {
  std::map<std::pair<int32_t, int64_t>, int32_t> lowest;
  Level level(names.size());
  for (size_t r = 0; r < names.size(); ++r) {
    const std::pair<int32_t, int64_t> name{outer == nullptr ? 0 : (*outer)[r], names[r]};
    level[r] = lowest.try_emplace(name, static_cast<int32_t>(r)).first->second;
  }
  return level;
}

bool tells_something(const Level& level) {
  bool one = true, singles = true;
  for (size_t r = 0; r < level.size(); ++r) {
    one &= level[r] == 0;
    singles &= level[r] == static_cast<int32_t>(r);
  }
  return !one && !singles;
}

int32_t groups_in(const Level& level) {
  int32_t count = 0;
  for (size_t r = 0; r < level.size(); ++r) count += level[r] == static_cast<int32_t>(r) ? 1 : 0;
  return count;
}

std::pair<int32_t, int32_t> sizes_in(const Level& level) {
  std::vector<int32_t> sizes(level.size(), 0);
  for (const int32_t group : level) ++sizes[static_cast<size_t>(group)];
  int32_t least = static_cast<int32_t>(level.size()), most = 0;
  for (const int32_t size : sizes) {
    if (size == 0) continue;
    least = std::min(least, size);
    most = std::max(most, size);
  }
  return {least, most};
}

}  // namespace

std::vector<int32_t> Levels::host_of(int32_t rank) const {
  std::vector<int32_t> members;
  const int32_t mine = groups[0][static_cast<size_t>(rank)];
  for (int32_t r = mine; r < ranks(); ++r)
    if (groups[0][static_cast<size_t>(r)] == mine) members.push_back(r);
  return members;
}

std::vector<int32_t> Levels::leaders() const {
  std::vector<int32_t> found;
  for (int32_t r = 0; r < ranks(); ++r)
    if (groups[0][static_cast<size_t>(r)] == r) found.push_back(r);
  return found;
}

bool Levels::equal_hosts() const {
  const auto [least, most] = sizes_in(groups[0]);
  return least == most;
}

bool Levels::equal_groups() const {
  return std::all_of(groups.begin(), groups.end(), [](const Level& level) {
    const auto [least, most] = sizes_in(level);
    return least == most;
  });
}

bool Levels::hosts_in_order() const { return std::is_sorted(groups[0].begin(), groups[0].end()); }

std::string Levels::text() const {
  const auto [least, most] = sizes_in(groups[0]);
  std::string words = strf("%d hosts of %d", groups_in(groups[0]), least);
  if (most > least) words += strf(" to %d", most);
  words += most == 1 ? " rank" : " ranks";
  for (size_t l = 1; l < groups.size(); ++l) words += strf(", in %d parts", groups_in(groups[l]));
  return words;
}

Levels Levels::from_names(const std::vector<std::vector<int64_t>>& names) {
  Levels levels;
  for (const auto& level : names) {
    const Level* outer = levels.empty() ? nullptr : &levels.groups.back();
    Level made = canonical(level, outer);
    if (tells_something(made) && (outer == nullptr || made != *outer))
      levels.groups.push_back(std::move(made));
  }
  return levels;
}

Levels Levels::from_sizes(int32_t ranks, const std::vector<int32_t>& sizes) {
  std::vector<std::vector<int64_t>> names;
  for (const int32_t size : sizes) {
    names.emplace_back();
    for (int32_t r = 0; r < ranks; ++r) names.back().push_back(r / size);
  }
  return from_names(names);
}

std::vector<RankRun> runs_of(const std::vector<int32_t>& ranks) {
  std::vector<RankRun> runs;
  for (const int32_t rank : ranks) {
    if (!runs.empty() && runs.back().first + runs.back().count == rank)
      ++runs.back().count;
    else
      runs.push_back({rank, 1});
  }
  return runs;
}

std::vector<RankRun> runs_of_hosts(const Levels& levels, const std::vector<int32_t>& leaders,
                                   int32_t first, int32_t count) {
  const auto hosts = static_cast<int32_t>(leaders.size());
  std::vector<int32_t> ranks;
  for (int32_t host = first; host < first + count; ++host) {
    const auto number = static_cast<size_t>(((host % hosts) + hosts) % hosts);
    const std::vector<int32_t> of = levels.host_of(leaders[number]);
    ranks.insert(ranks.end(), of.begin(), of.end());
  }
  std::sort(ranks.begin(), ranks.end());
  return runs_of(ranks);
}

}  // namespace tern::coll
