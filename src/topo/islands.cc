// SPDX-License-Identifier: Apache-2.0
#include "topo/islands.hpp"

namespace tern::topo {
namespace {

bool fits(const Reach& reach, const std::vector<int>& islands, int island, int one) {
  for (int other = 0; other < one; ++other)
    if (islands[static_cast<size_t>(other)] == island && !reach.both_ways(one, other)) return false;
  return true;
}

}  // namespace

std::vector<int> islands_of(const Reach& reach) {
  std::vector<int> islands;
  for (int one = 0; one < reach.count(); ++one) {
    int island = 0;
    while (island < one &&
           (islands[static_cast<size_t>(island)] != island || !fits(reach, islands, island, one)))
      ++island;
    islands.push_back(island);
  }
  return islands;
}

}  // namespace tern::topo
