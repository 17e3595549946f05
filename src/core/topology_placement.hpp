// SPDX-License-Identifier: Apache-2.0
// Placement of a new topology's ranks: puts neighbours on the same node where possible.
// Why: implements `reorder`. All members compute the same placement from shared data, without a
// message. Cost: about (ranks + edges) * log ranks. See: tests/unit/core/topology_test.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "core/topology.hpp"

namespace tern::core {

using Placement = std::vector<int>;

/// The total weight of edges between nodes, if new rank r is old rank order[r]. `nodes`: the node
/// of each old rank.
[[nodiscard]] int64_t crossings(const Graph& graph, const Placement& order,
                                const std::vector<int>& nodes);

[[nodiscard]] Graph graph_of(const Cartesian& grid);
/// Merges the ranks' outgoing edges into a graph; incoming edges are outgoing ones of other ranks.
[[nodiscard]] Graph graph_of(const std::vector<Edges>& by_rank);

/// Places the vertices of a graph on its first old ranks. Keeps the given order if the search finds
/// no better one.
[[nodiscard]] Placement place(const Graph& graph, const std::vector<int>& nodes);
/// Places a grid, in equal blocks if the nodes allow.
[[nodiscard]] Placement place(const Cartesian& grid, const std::vector<int>& nodes);

}  // namespace tern::core
