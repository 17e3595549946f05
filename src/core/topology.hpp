// SPDX-License-Identifier: Apache-2.0
// Topology: which ranks of a communicator are neighbours: a grid, a graph, or each rank's own
// edges. Lifetime: immutable, shared by a communicator and its duplicates. Threads: any.
// See: MPI-5.0 chapter 8; tests/unit/core/topology_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

namespace tern::core {

/// A grid in row-major order: the last dimension varies fastest. No dimension: one process.
struct Cartesian {
  std::vector<int> dims;
  std::vector<bool> periods;

  [[nodiscard]] size_t dimensions() const noexcept { return dims.size(); }
  /// The product of dims.
  [[nodiscard]] int size() const noexcept;
  /// Negative where a coordinate is outside of a dimension that is not periodic: -1 - dimension.
  [[nodiscard]] int rank_at(const int* coords) const noexcept;
  void coords_of(int rank, int* coords) const noexcept;
  /// The rank `steps` further in a dimension; MPI_PROC_NULL beyond an edge.
  [[nodiscard]] int shifted(int rank, size_t dimension, long long steps) const noexcept;
};

/// As MPI_Graph_create has it: the edges of rank r are edges[index[r - 1]] to edges[index[r] - 1].
struct Graph {
  std::vector<int> index, edges;
  std::vector<int> weights{};  // of the edges, for placement; empty: each counts once

  [[nodiscard]] int64_t weight(int rank, int neighbor) const noexcept {
    return weights.empty() ? 1 : weights[static_cast<size_t>(first(rank) + neighbor)];
  }
  [[nodiscard]] const int* neighbors(int rank) const noexcept { return edges.data() + first(rank); }
  [[nodiscard]] int degree(int rank) const noexcept {
    return index[static_cast<size_t>(rank)] - first(rank);
  }
  [[nodiscard]] int first(int rank) const noexcept {
    return rank == 0 ? 0 : index[static_cast<size_t>(rank) - 1];
  }
};

/// The edges of the calling rank alone.
struct Edges {
  std::vector<int> sources, destinations;
  bool weighted = false;
  std::vector<int> source_weights, destination_weights;  // where weighted
};

class Topology {
 public:
  using Shape = std::variant<Cartesian, Graph, Edges>;
  /// `rank`: of the process whose neighbours these are.
  Topology(Shape shape, int rank);

  /// MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH.
  [[nodiscard]] int kind() const noexcept;
  [[nodiscard]] const Cartesian* cartesian() const noexcept { return std::get_if<0>(&shape_); }
  [[nodiscard]] const Graph* graph() const noexcept { return std::get_if<1>(&shape_); }
  [[nodiscard]] const Edges* edges() const noexcept { return std::get_if<2>(&shape_); }

  /// From whom and to whom neighbourhood collectives go, in their order; MPI_PROC_NULL beyond the
  /// edges of a grid.
  [[nodiscard]] const std::vector<int>& sources() const noexcept { return sources_; }
  [[nodiscard]] const std::vector<int>& destinations() const noexcept { return destinations_; }

 private:
  Shape shape_;
  std::vector<int> sources_, destinations_;
};

/// The dimensions of a grid of `nodes` ranks, descending: the largest and the smallest are as close
/// as can be; among equals the smallest is as large as can be. An exact search. `count` > 0.
[[nodiscard]] std::vector<int> balanced_dims(int nodes, int count);

}  // namespace tern::core
