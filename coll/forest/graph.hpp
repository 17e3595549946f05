// SPDX-License-Identifier: Apache-2.0
// Graph: a machine as a directed graph with integer capacities. Nodes 0 .. gpus - 1 are the GPUs in
// rank order, followed by switches in order of their names. Equal machines have equal graphs, in
// whatever order a file lists links and switches.
// Units: capacities count multiples of `unit` kB/s.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/topology/topology.hpp"

namespace tern::coll::forest {

struct Graph {
  struct Edge {
    int32_t from, to;
    int64_t capacity;
    bool operator==(const Edge&) const = default;
  };
  int32_t gpus = 0;
  int64_t unit = 1;
  std::vector<std::string> names;
  std::vector<Edge> edges;  // ascending, a pair of nodes once

  [[nodiscard]] int32_t nodes() const noexcept { return static_cast<int32_t>(names.size()); }
  /// turned() has each edge in the opposite direction: a reduction is its broadcast.
  [[nodiscard]] Graph turned() const;
  [[nodiscard]] double gbytes(double capacity) const noexcept {
    return capacity * static_cast<double>(unit) * 1e-6;
  }
};

/// Throws tern::Error if capacities are too large for exact numbers.
[[nodiscard]] Graph graph_of(const Topology& topology);
/// node_numbers() maps the topology's nodes to the graph's.
[[nodiscard]] std::vector<int32_t> node_numbers(const Topology& topology);
/// put_in_order() sorts edges and joins parallel ones.
void put_in_order(std::vector<Graph::Edge>& edges);

}  // namespace tern::coll::forest
