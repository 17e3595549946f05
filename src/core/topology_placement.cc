// SPDX-License-Identifier: Apache-2.0
// Placements: blocks of a grid, or greedy growth of parts for any graph.
#include "core/topology_placement.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "mpi.h"

namespace tern::core {

namespace {

Placement as_they_are(size_t vertices) {
  Placement order(vertices);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<std::vector<int>> ranks_by_node(const std::vector<int>& nodes, size_t vertices) {
  std::map<int, std::vector<int>> by_node;
  for (size_t rank = 0; rank < vertices; ++rank)
    by_node[nodes[rank]].push_back(static_cast<int>(rank));
  std::vector<std::vector<int>> all;
  for (auto& [node, ranks] : by_node) all.push_back(std::move(ranks));
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return all;
}

/// Growth grows one part after the other. The next vertex has the greatest weight into the part,
/// then the least weight to unplaced vertices.
class Growth {
 public:
  explicit Growth(const Graph& graph) : vertices_(graph.index.size()) {
    for (size_t v = 0; v < vertices_.size(); ++v)
      for (int i = 0; i < graph.degree(static_cast<int>(v)); ++i)
        connect(static_cast<int>(v), graph.neighbors(static_cast<int>(v))[i],
                graph.weight(static_cast<int>(v), i));
    for (size_t v = 0; v < vertices_.size(); ++v) waiting_.insert(key(static_cast<int>(v)));
  }

  [[nodiscard]] std::vector<int> next_part(size_t size) {
    std::vector<int> part;
    while (part.size() < size) {
      const int chosen = std::get<2>(*waiting_.begin());
      waiting_.erase(waiting_.begin());
      vertex(chosen).placed = true;
      part.push_back(chosen);
      for (const Edge& edge : vertex(chosen).edges) joined(edge);
    }
    for (const int member : part)
      for (const Edge& edge : vertex(member).edges) change(edge.to, 0, 0);
    return part;
  }

 private:
  struct Edge {
    int to;
    int64_t weight;
  };
  struct Vertex {
    std::vector<Edge> edges;
    int64_t inside = 0;
    int64_t outside = 0;
    bool placed = false;
  };
  using Key = std::tuple<int64_t, int64_t, int>;

  Vertex& vertex(int v) { return vertices_[static_cast<size_t>(v)]; }
  void connect(int a, int b, int64_t weight) {
    if (a == b) return;
    vertex(a).edges.push_back({b, weight});
    vertex(b).edges.push_back({a, weight});
    vertex(a).outside += weight;
    vertex(b).outside += weight;
  }
  [[nodiscard]] Key key(int v) { return {-vertex(v).inside, vertex(v).outside, v}; }
  void joined(const Edge& edge) {
    const Vertex& v = vertex(edge.to);
    change(edge.to, v.inside + edge.weight, edge.weight);
  }
  void change(int v, int64_t inside, int64_t less_outside) {
    if (vertex(v).placed) return;
    waiting_.erase(key(v));
    vertex(v).inside = inside;
    vertex(v).outside -= less_outside;
    waiting_.insert(key(v));
  }

  std::vector<Vertex> vertices_;
  std::set<Key> waiting_;
};

class NodeBlock {
 public:
  NodeBlock(const Cartesian& grid, int per_node) : grid_(grid), current_(grid.dimensions()) {
    choose(0, per_node);
  }
  [[nodiscard]] const std::vector<int>& best() const { return best_; }

 private:
  [[nodiscard]] int64_t cost() const {
    int64_t sum = 0;
    for (size_t i = 0; i < current_.size(); ++i) {
      const int parts = grid_.dims[i] / current_[i];
      const int cuts = parts == 1 ? 0 : grid_.periods[i] ? parts : parts - 1;
      sum += static_cast<int64_t>(grid_.size() / grid_.dims[i]) * cuts;
    }
    return sum;
  }
  void choose(size_t dimension, int left) {
    if (dimension == current_.size()) {
      if (left != 1 || (!best_.empty() && cost() >= best_cost_)) return;
      best_ = current_;
      best_cost_ = cost();
      return;
    }
    for (int side = 1; side <= grid_.dims[dimension] && side <= left; ++side) {
      if (grid_.dims[dimension] % side != 0 || left % side != 0) continue;
      current_[dimension] = side;
      choose(dimension + 1, left / side);
    }
  }

  const Cartesian& grid_;
  std::vector<int> current_, best_;
  int64_t best_cost_ = 0;
};

/// The placement is empty if node sizes differ or no block fits.
Placement in_blocks(const Cartesian& grid, const std::vector<std::vector<int>>& nodes) {
  const auto per_node = static_cast<int>(nodes.front().size());
  if (nodes.back().size() != nodes.front().size()) return {};
  const std::vector<int> block = NodeBlock(grid, per_node).best();
  if (block.empty()) return {};
  Placement order(static_cast<size_t>(grid.size()));
  std::vector<int> coords(grid.dimensions());
  std::vector<size_t> used(nodes.size(), 0);
  for (int rank = 0; rank < grid.size(); ++rank) {
    grid.coords_of(rank, coords.data());
    size_t node = 0;
    for (size_t i = 0; i < block.size(); ++i)
      node = node * static_cast<size_t>(grid.dims[i] / block[i]) +
             static_cast<size_t>(coords[i] / block[i]);
    order[static_cast<size_t>(rank)] = nodes[node][used[node]++];
  }
  return order;
}

Placement better(const Graph& graph, const std::vector<int>& nodes, Placement found) {
  Placement plain = as_they_are(graph.index.size());
  if (found.empty() || crossings(graph, found, nodes) >= crossings(graph, plain, nodes))
    return plain;
  return found;
}

}  // namespace

int64_t crossings(const Graph& graph, const Placement& order, const std::vector<int>& nodes) {
  const auto node_of = [&](int rank) {
    return nodes[static_cast<size_t>(order[static_cast<size_t>(rank)])];
  };
  int64_t count = 0;
  for (size_t v = 0; v < graph.index.size(); ++v)
    for (int i = 0; i < graph.degree(static_cast<int>(v)); ++i)
      if (node_of(static_cast<int>(v)) != node_of(graph.neighbors(static_cast<int>(v))[i]))
        count += graph.weight(static_cast<int>(v), i);
  return count;
}

Graph graph_of(const Cartesian& grid) {
  Graph graph;
  for (int rank = 0; rank < grid.size(); ++rank) {
    for (size_t i = 0; i < grid.dimensions(); ++i)
      for (const int step : {-1, 1})
        if (const int to = grid.shifted(rank, i, step); to != MPI_PROC_NULL && to != rank)
          graph.edges.push_back(to);
    graph.index.push_back(static_cast<int>(graph.edges.size()));
  }
  return graph;
}

Graph graph_of(const std::vector<Edges>& by_rank) {
  Graph graph;
  for (const Edges& one : by_rank) {
    graph.edges.insert(graph.edges.end(), one.destinations.begin(), one.destinations.end());
    for (size_t i = 0; i < one.destinations.size(); ++i)
      graph.weights.push_back(one.weighted ? one.destination_weights[i] : 1);
    graph.index.push_back(static_cast<int>(graph.edges.size()));
  }
  return graph;
}

Placement place(const Graph& graph, const std::vector<int>& nodes) {
  const auto by_node = ranks_by_node(nodes, graph.index.size());
  if (by_node.size() < 2) return as_they_are(graph.index.size());
  Growth growth(graph);
  Placement order(graph.index.size());
  for (const std::vector<int>& ranks : by_node) {
    std::vector<int> part = growth.next_part(ranks.size());
    std::sort(part.begin(), part.end());
    for (size_t i = 0; i < ranks.size(); ++i) order[static_cast<size_t>(part[i])] = ranks[i];
  }
  return better(graph, nodes, std::move(order));
}

Placement place(const Cartesian& grid, const std::vector<int>& nodes) {
  const auto by_node = ranks_by_node(nodes, static_cast<size_t>(grid.size()));
  if (by_node.size() < 2) return as_they_are(static_cast<size_t>(grid.size()));
  const Graph graph = graph_of(grid);
  Placement blocks = in_blocks(grid, by_node);
  return blocks.empty() ? place(graph, nodes) : better(graph, nodes, std::move(blocks));
}

}  // namespace tern::core
