// SPDX-License-Identifier: Apache-2.0
// Placement of a new topology's ranks: neighbours on the same node where possible, for `reorder`.
// All members compute the same without a message. Cost: about (ranks + edges) * log ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/topology.hpp"

namespace tern::core {

using Placement = std::vector<int>;

/// crossings() is the weight of edges between nodes, if new rank r is old rank order[r].
[[nodiscard]] int64_t crossings(const Graph& graph, const Placement& order,
                                const std::vector<int>& nodes);

[[nodiscard]] Graph graph_of(const Cartesian& grid);
[[nodiscard]] Graph graph_of(const std::vector<Edges>& by_rank);

[[nodiscard]] Placement place(const Graph& graph, const std::vector<int>& nodes);
[[nodiscard]] Placement place(const Cartesian& grid, const std::vector<int>& nodes);

}  // namespace tern::core
