// SPDX-License-Identifier: Apache-2.0
// pack: out-trees over all GPUs, within edges of given capacity. Trees of root v weigh supplies[v]
// in all. The trees exist if every GPU can receive all supplies (has_flows).
// Method: all trees grow breadth first, a level at a time. A maximum flow finds the
// weight with which an edge may join a tree, so the other trees stay completable; a smaller weight
// than the tree's splits the tree.
// See: Tarjan 1974; Berczi, Frank 2010; Zhao et al., ForestColl.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/forest/graph.hpp"

namespace tern::coll::forest {

struct PackedTree {
  int32_t root = 0;
  int64_t weight = 0;
  std::vector<int32_t> parents;  // -1: the root
};

/// Throws tern::Error if no such trees exist.
[[nodiscard]] std::vector<PackedTree> pack(const std::vector<Graph::Edge>& edges,
                                           const std::vector<int64_t>& supplies);

}  // namespace tern::coll::forest
