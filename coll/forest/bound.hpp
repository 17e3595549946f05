// SPDX-License-Identifier: Apache-2.0
// Bound: the least time of a collective on a graph, from its tightest cut, as an exact fraction.
// Data leaves the roots: GPU v has weights[v] units for all GPUs. A set S of nodes without some GPU
// sends the units of S over the edges out of S, so the time is at least units / capacity. The bound
// is the largest of these ratios, and out-trees reach the bound (Edmonds 1973).
// Method: Newton on the ratio; each maximum flow that fails names a tighter cut.
// See: Zhao et al., ForestColl (arXiv 2402.06787), for the bound.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/forest/graph.hpp"
#include "coll/schedule/collective.hpp"

namespace tern::coll::forest {

struct Bound {
  int64_t units = 0, capacity = 1;  // ratio units / capacity in lowest terms
  std::vector<char> cut;            // 1: in S, by node
};

/// Throws tern::Error if a GPU cannot be reached from a root.
[[nodiscard]] Bound bound_of(const Graph& graph, const std::vector<int64_t>& weights);

/// Roots of a broadcast or reduce (one) and of other collectives (all GPUs).
[[nodiscard]] std::vector<int64_t> root_weights(Collective collective, int32_t gpus, int32_t root);
/// Trees of a `turned` collective lead to the root.
[[nodiscard]] constexpr bool turned(Collective c) noexcept {
  return c == Collective::kReduce || c == Collective::kReduceScatter;
}

/// Bus bandwidth as in nccl-tests, GB/s, for a time of `ratio` (units / capacity).
[[nodiscard]] double bus_bound(const Graph& graph, Collective collective, double ratio);
/// "14 GPUs without g0 g1, 7 links of 50 GB/s"
[[nodiscard]] std::string cut_in_words(const Graph& graph, const std::vector<char>& cut);

}  // namespace tern::coll::forest
