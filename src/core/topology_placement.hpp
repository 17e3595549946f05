// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a new topology go: neighbours on the same node as far as that can be.
// Why: what `reorder` allows. All members compute the same from what they know: no message.
// Cost: about (ranks + edges) * log ranks. See: tests/unit/core/topology_test.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "core/topology.hpp"

namespace tern::core {

/// order[new rank] = old rank.
using Placement = std::vector<int>;

/// The edges, each with its weight, that lead from one node to another where new rank r is old rank
/// order[r]; `nodes`: the node of each old rank.
[[nodiscard]] int64_t crossings(const Graph& graph, const Placement& order,
                                const std::vector<int>& nodes);

/// A grid as a graph.
[[nodiscard]] Graph graph_of(const Cartesian& grid);
/// The graph of which each rank has given its edges; those into a rank are others' edges out.
[[nodiscard]] Graph graph_of(const std::vector<Edges>& by_rank);

/// Places the vertices of a graph on its first old ranks; as they are where nothing better is
/// found.
[[nodiscard]] Placement place(const Graph& graph, const std::vector<int>& nodes);
/// The same for a grid: in equal blocks where the nodes allow it.
[[nodiscard]] Placement place(const Cartesian& grid, const std::vector<int>& nodes);

}  // namespace tern::core
