// SPDX-License-Identifier: Apache-2.0
// Graph: from a topology.
#include "coll/forest/graph.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::coll::forest {
namespace {

constexpr int64_t kLargestSum = int64_t{1} << 50;  // times 1,024 GPUs fits

}  // namespace

void put_in_order(std::vector<Graph::Edge>& edges) {
  std::sort(edges.begin(), edges.end(), [](const Graph::Edge& a, const Graph::Edge& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  });
  size_t kept = 0;
  for (const Graph::Edge& edge : edges) {
    if (kept > 0 && edges[kept - 1].from == edge.from && edges[kept - 1].to == edge.to)
      edges[kept - 1].capacity += edge.capacity;
    else
      edges[kept++] = edge;
  }
  edges.resize(kept);
}

Graph Graph::turned() const {
  Graph other = *this;
  for (Edge& edge : other.edges) std::swap(edge.from, edge.to);
  put_in_order(other.edges);
  return other;
}

std::vector<int32_t> node_numbers(const Topology& topology) {
  std::vector<int32_t> order = topology.gpus;
  for (size_t node = 0; node < topology.nodes.size(); ++node)
    if (topology.nodes[node].kind != Topology::Kind::kGpu)
      order.push_back(static_cast<int32_t>(node));
  const auto name = [&](int32_t node) { return topology.nodes[static_cast<size_t>(node)].name; };
  std::sort(order.begin() + topology.ranks(), order.end(),
            [&](int32_t a, int32_t b) { return name(a) < name(b); });
  std::vector<int32_t> numbers(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    numbers[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
  return numbers;
}

Graph graph_of(const Topology& topology) {
  const std::vector<int32_t> numbers = node_numbers(topology);
  Graph graph;
  graph.gpus = topology.ranks();
  graph.names.resize(numbers.size());
  for (size_t node = 0; node < numbers.size(); ++node)
    graph.names[static_cast<size_t>(numbers[node])] = topology.nodes[node].name;
  int64_t unit = 0;
  for (const Topology::Link& link : topology.links) {
    unit = std::gcd(unit, link.capacity);
    graph.edges.push_back({numbers[static_cast<size_t>(link.from)],
                           numbers[static_cast<size_t>(link.to)], link.capacity});
  }
  put_in_order(graph.edges);
  graph.unit = std::max<int64_t>(unit, 1);
  int64_t sum = 0;
  for (Graph::Edge& edge : graph.edges) {
    edge.capacity /= graph.unit;
    sum += edge.capacity;
    if (sum > kLargestSum)
      throw Error(MPI_ERR_ARG,
                  strf("bandwidths of all links sum to over %g GB/s in steps of %g GB/s; write "
                       "them with fewer digits",
                       graph.gbytes(static_cast<double>(kLargestSum)), graph.gbytes(1)));
  }
  return graph;
}

}  // namespace tern::coll::forest
