// SPDX-License-Identifier: Apache-2.0
// Allreduce by levels: a ring reduce-scatter in each innermost group, then between the groups of
// each outer level, on ever smaller slices, and allgathers on the way back. Results are bitwise
// equal.
// Cost: at a level of g groups 2 (g - 1) rounds, with 2 n / (ranks of a group) bytes per rank.
// See: Cho et al. 2019 (BlueConnect, MLSys), for any number of levels.
#include <algorithm>
#include <numeric>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/slices.hpp"

namespace tern::coll {
namespace {

struct LevelRing {
  std::vector<int32_t> ranks;
  int32_t mine = 0;
};

/// Returns this rank's rings, the innermost first. Groups of a level have equal sizes.
std::vector<LevelRing> level_rings(const Builder& b) {
  const std::vector<std::vector<int32_t>>& groups = b.levels()->groups;
  std::vector<int32_t> order(static_cast<size_t>(b.ranks()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t one, int32_t two) {
    for (const auto& level : groups)
      if (level[static_cast<size_t>(one)] != level[static_cast<size_t>(two)])
        return level[static_cast<size_t>(one)] < level[static_cast<size_t>(two)];
    return false;
  });
  const auto at =
      static_cast<int32_t>(std::find(order.begin(), order.end(), b.rank()) - order.begin());
  std::vector<LevelRing> rings;
  int32_t inner = 1;  // ranks of an inner group
  for (size_t l = groups.size() + 1; l-- > 0;) {
    const auto size = l == 0 ? b.ranks()
                             : static_cast<int32_t>(std::count(
                                   groups[l - 1].begin(), groups[l - 1].end(), groups[l - 1][0]));
    LevelRing ring{.ranks = {}, .mine = at % size / inner};
    const int32_t first = at / size * size + at % inner;
    for (int32_t i = 0; i < size / inner; ++i)
      ring.ranks.push_back(order[static_cast<size_t>(first + i * inner)]);
    rings.push_back(std::move(ring));
    inner = size;
  }
  return rings;
}

}  // namespace

void allreduce_by_levels(Builder& b) {
  const std::vector<LevelRing> rings = level_rings(b);
  b.split(b.ranks());
  b.mirrors(1);
  std::vector<HeldBlocks> held{{.blocks = b.ranks()}};
  for (const LevelRing& ring : rings)
    held.push_back(sum_in_ring(b, ring.ranks, ring.mine, held.back()));
  if (held.back().at != kAtOutput)
    b.copy(slice_of(b, held.back()), Builder::output(held.back().low, 1));
  for (size_t l = rings.size(); l-- > 0;)
    share_in_ring(b, rings[l].ranks, rings[l].mine, held[l].low, held[l + 1].blocks);
}

}  // namespace tern::coll
