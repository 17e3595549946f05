// SPDX-License-Identifier: Apache-2.0
// Splitter: replaces switches by edges between their neighbours. Splitting edges (u, w) and (w, t)
// off a switch w gives an edge (u, t); amounts keep all flows, so the forest's weight
// stays the same without the switch (Bang-Jensen, Frank, Jackson 1995; Berczi, Frank 2010).
// Way: first a balanced circulant of the whole switch (its neighbour i sends to i + stride), then
// pairs. An edge between GPUs follows the route of messages.
// Cost: a circulant takes a flow per GPU, pairs take 2 x degree^2 flows per GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "coll/forest/graph.hpp"

namespace tern::coll::forest {

/// Gets the nodes of a way from GPU to GPU; true if messages take it.
using IsRoute = std::function<bool(const std::vector<int32_t>& nodes)>;

struct SplitWish {
  std::vector<int64_t> supplies;  // trees rooted at each GPU
  IsRoute is_route;
  int32_t stride = 1;  // preferred stride of circulants
};

struct SplitResult {
  std::vector<Graph::Edge> edges;  // between GPUs
  std::string fault;               // the switch that kept edges; empty: split
};

/// `graph` has capacities in trees. Its flows must suffice (has_flows).
[[nodiscard]] SplitResult split_switches(const Graph& graph, const SplitWish& wish);

/// True if all GPUs receive all supplies.
[[nodiscard]] bool has_flows(int32_t nodes, const std::vector<Graph::Edge>& edges,
                             const std::vector<int64_t>& supplies);

}  // namespace tern::coll::forest
