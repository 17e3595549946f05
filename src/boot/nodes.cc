// SPDX-License-Identifier: Apache-2.0
// Nodes: compression of a list by rank.
#include "boot/nodes.hpp"

#include <algorithm>
#include <map>

namespace tern::boot {
namespace {

struct Run {
  int first, ranks, node;
};

std::vector<Run> runs_of(const std::vector<int>& names) {
  std::map<int, int> known;
  std::vector<Run> runs;
  int rank = 0;
  for (const int name : names) {
    const int node = known.emplace(name, static_cast<int>(known.size())).first->second;
    if (runs.empty() || runs.back().node != node) runs.push_back({rank, 0, node});
    ++runs.back().ranks;
    ++rank;
  }
  return runs;
}

}  // namespace

Nodes::Nodes(const std::vector<int>& names) {
  const std::vector<Run> runs = runs_of(names);
  for (size_t begin = 0, end = 0; begin < runs.size(); begin = end) {
    Stretch stretch{runs[begin].first, runs[begin].node, runs[begin].ranks, 0};
    bool full = true;  // a shorter run ends the stretch
    for (end = begin + 1; end < runs.size() && full; ++end) {
      const auto turn = static_cast<int>(end - begin);
      if (stretch.nodes == 0 && runs[end].node == stretch.node) stretch.nodes = turn;
      const int step = stretch.nodes == 0 ? turn : turn % stretch.nodes;
      if (runs[end].node != stretch.node + step || runs[end].ranks > stretch.block) break;
      full = runs[end].ranks == stretch.block;
    }
    stretches_.push_back(stretch);
  }
  stretches_.shrink_to_fit();
}

int Nodes::of(int rank) const noexcept {
  const auto after =
      std::upper_bound(stretches_.begin(), stretches_.end(), rank,
                       [](int wanted, const Stretch& stretch) { return wanted < stretch.first; });
  const Stretch& stretch = *(after - 1);
  const int turn = (rank - stretch.first) / stretch.block;
  return stretch.node + (stretch.nodes == 0 ? turn : turn % stretch.nodes);
}

}  // namespace tern::boot
