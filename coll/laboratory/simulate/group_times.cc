// SPDX-License-Identifier: Apache-2.0
#include "coll/laboratory/simulate/group_times.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "coll/laboratory/simulate/mix.hpp"
#include "coll/laboratory/simulate/simulate.hpp"

namespace tern::coll {
namespace {

constexpr size_t kMostKept = size_t{1} << 18;  // groups, and sets of groups

int32_t root_of_set(std::vector<int32_t>& up, int32_t one) {
  while (up[static_cast<size_t>(one)] != one) {
    int32_t& next = up[static_cast<size_t>(one)];
    one = next = up[static_cast<size_t>(next)];
  }
  return one;
}

}  // namespace

PlacedMachine::PlacedMachine(const Topology& machine)
    : machine_(machine), view_(machine), routes_(machine), hosts_(hosts_of(machine)) {
  view_.given.clear();
  view_.closed = [this](int32_t from, int32_t to, std::vector<int32_t>* links) {
    routes_.find(gpus_[static_cast<size_t>(from)], gpus_[static_cast<size_t>(to)], &route_);
    links->insert(links->end(), route_.links.begin(), route_.links.end());
  };
}

const Topology& PlacedMachine::with(const std::vector<int32_t>& gpus) {
  gpus_ = gpus;
  view_.gpus.clear();
  for (const int32_t gpu : gpus) view_.gpus.push_back(machine_.gpus[static_cast<size_t>(gpu)]);
  return view_;
}

double continued_time(const Pattern& pattern, const Topology& topology, const Algorithm& row,
                      double bytes, int32_t most_passes) {
  Simulation what{.bytes = bytes, .chunk = static_cast<double>(row.chunk)};
  const Outline& any = pattern.outline(0);
  const bool piped = any.within_blocks && what.chunk > 0;
  const double passes = piped ? std::ceil(what.bytes / (what.chunk * any.parts)) : 1;
  if (passes <= most_passes) return simulate(pattern, topology, what).time;
  const double pass = what.bytes / passes;
  what.bytes = pass * most_passes;
  const double full = simulate(pattern, topology, what).time;
  what.bytes /= 2;
  const double half = simulate(pattern, topology, what).time;
  return full + (full - half) * (passes - most_passes) / (most_passes / 2);
}

size_t GroupTimes::KeyHash::operator()(const Key& key) const noexcept {
  uint64_t hash = key.size();
  for (const int32_t one : key) hash = mix(hash, static_cast<uint64_t>(one));
  return hash;
}

GroupTimes::GroupTimes(const Algorithm& row, const WorkloadCall& call, const Groups& groups,
                       PlacedMachine& machine, int32_t most_passes)
    : row_(row), call_(call), groups_(groups), machine_(machine), most_passes_(most_passes) {}

// Rows without levels have one pattern for all placements.
const Pattern* GroupTimes::pattern_on(const Key& gpus) {
  std::vector<int64_t> hosts;
  for (const int32_t gpu : gpus) hosts.push_back(machine_.hosts()[static_cast<size_t>(gpu)]);
  Levels levels;
  if ((row_.limits & kLevels) != 0) levels = Levels::from_names({hosts});
  const auto [at, is_new] = patterns_.try_emplace(levels.groups);
  if (!is_new) return at->second.get();
  const Levels* const given = levels.empty() ? nullptr : &levels;
  const auto ranks = static_cast<int32_t>(gpus.size());
  if (serves(row_, ranks, given))
    at->second = std::make_unique<Pattern>(Pattern::of(row_, ranks, call_.root, given));
  return at->second.get();
}

const GroupTimes::Placed& GroupTimes::placed(const Key& gpus) {
  if (placed_.size() > kMostKept) placed_.clear();
  const auto [at, is_new] = placed_.try_emplace(gpus);
  Placed& one = at->second;
  if (!is_new) return one;
  one.pattern = pattern_on(gpus);
  if (one.pattern == nullptr || groups_.size() == 1) return one;
  Route route;
  for (int32_t r = 0; r < one.pattern->ranks(); ++r) {
    const auto peers = one.pattern->peers(r);
    for (size_t i = 0; i < peers.size(); ++i) {
      if (one.pattern->outline(r).sends[i] == 0) continue;
      machine_.routes().find(gpus[static_cast<size_t>(r)], gpus[static_cast<size_t>(peers[i])],
                             &route);
      one.links.insert(one.links.end(), route.links.begin(), route.links.end());
    }
  }
  std::sort(one.links.begin(), one.links.end());
  one.links.erase(std::unique(one.links.begin(), one.links.end()), one.links.end());
  return one;
}

double GroupTimes::run(const std::vector<const Pattern*>& parts, const Key& gpus) {
  if (times_.size() > kMostKept) times_.clear();
  const auto [at, is_new] = times_.try_emplace(gpus, 0);
  if (!is_new) return at->second;
  const Pattern joined = parts.size() == 1 ? Pattern() : Pattern::beside(parts);
  const Pattern& all = parts.size() == 1 ? *parts[0] : joined;
  for (int32_t r = 0; r < all.ranks(); ++r)
    work_ += static_cast<int64_t>(all.outline(r).steps.size());
  return at->second = continued_time(all, machine_.with(gpus), row_, call_.bytes, most_passes_);
}

double GroupTimes::time(const std::vector<int32_t>& places) {
  std::vector<Key> gpus(groups_.size());
  std::vector<const Pattern*> patterns(groups_.size());
  std::vector<int32_t> up(groups_.size());
  std::iota(up.begin(), up.end(), 0);
  std::unordered_map<int32_t, int32_t> user;  // a group of each link
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (const int32_t rank : groups_[g]) gpus[g].push_back(places[static_cast<size_t>(rank)]);
    const Placed& one = placed(gpus[g]);
    patterns[g] = one.pattern;
    if (one.pattern == nullptr) return std::numeric_limits<double>::infinity();
    for (const int32_t link : one.links) {
      const int32_t other = user.try_emplace(link, static_cast<int32_t>(g)).first->second;
      up[static_cast<size_t>(root_of_set(up, other))] = root_of_set(up, static_cast<int32_t>(g));
    }
  }
  std::map<int32_t, std::pair<std::vector<const Pattern*>, Key>> sets;
  for (size_t g = 0; g < groups_.size(); ++g) {
    auto& [parts, all] = sets[root_of_set(up, static_cast<int32_t>(g))];
    parts.push_back(patterns[g]);
    all.insert(all.end(), gpus[g].begin(), gpus[g].end());
  }
  double longest = 0;
  for (const auto& [set, of] : sets) longest = std::max(longest, run(of.first, of.second));
  return longest;
}

}  // namespace tern::coll
