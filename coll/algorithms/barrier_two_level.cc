// SPDX-License-Identifier: Apache-2.0
// Two-level barrier: each host's ranks signal the lowest rank, the leader; leaders use
// dissemination, then release the hosts.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {
namespace {

constexpr int32_t kUp = 0, kDown = 1, kFirstAmongLeaders = 2;

void tell_leaders(Builder& b) {
  const std::vector<int32_t> leaders = b.levels()->leaders();
  const auto hosts = static_cast<int32_t>(leaders.size());
  const auto mine = static_cast<int32_t>(
      std::lower_bound(leaders.begin(), leaders.end(), b.rank()) - leaders.begin());
  const auto leader = [&](int32_t distance) {
    return leaders[static_cast<size_t>((mine + distance + hosts) % hosts)];
  };
  int32_t round = kFirstAmongLeaders;
  for (int32_t distance = 1; distance < hosts; distance *= 2, ++round) {
    b.signal(leader(distance), round);
    b.wait(leader(-distance), round);
  }
}

}  // namespace

void barrier_two_level(Builder& b) {
  const RankPlace place = host_place(b);
  for (const int32_t child : place.children) b.wait(child, kUp);
  if (place.parent >= 0) {
    b.signal(place.parent, kUp);
    b.wait(place.parent, kDown);
  } else {
    tell_leaders(b);
  }
  for (const int32_t child : place.children) b.signal(child, kDown);
}

}  // namespace tern::coll
