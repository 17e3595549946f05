// SPDX-License-Identifier: Apache-2.0
// Topology: the neighbours of a communicator's ranks: a grid, a graph, or each rank's edges
// (MPI-5.0 chapter 8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

namespace tern::core {

/// The grid is in row-major order. A grid without dimensions has one process.
struct Cartesian {
  std::vector<int> dims;
  std::vector<bool> periods;

  [[nodiscard]] size_t dimensions() const noexcept { return dims.size(); }
  [[nodiscard]] int size() const noexcept;
  /// rank_at() returns -1 - dimension if a coordinate is out of range.
  [[nodiscard]] int rank_at(const int* coords) const noexcept;
  void coords_of(int rank, int* coords) const noexcept;
  [[nodiscard]] int shifted(int rank, size_t dimension, long long steps) const noexcept;
};

/// As in MPI_Graph_create, rank r has edges[index[r - 1]] to edges[index[r] - 1].
struct Graph {
  std::vector<int> index, edges;
  std::vector<int> weights{};

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

struct Edges {
  std::vector<int> sources, destinations;
  bool weighted = false;
  std::vector<int> source_weights, destination_weights;
};

class Topology {
 public:
  using Shape = std::variant<Cartesian, Graph, Edges>;
  Topology(Shape shape, int rank);

  [[nodiscard]] int kind() const noexcept;
  [[nodiscard]] const Cartesian* cartesian() const noexcept { return std::get_if<0>(&shape_); }
  [[nodiscard]] const Graph* graph() const noexcept { return std::get_if<1>(&shape_); }
  [[nodiscard]] const Edges* edges() const noexcept { return std::get_if<2>(&shape_); }

  /// Neighbourhood collectives use MPI_PROC_NULL beyond the edges of a grid.
  [[nodiscard]] const std::vector<int>& sources() const noexcept { return sources_; }
  [[nodiscard]] const std::vector<int>& destinations() const noexcept { return destinations_; }

 private:
  Shape shape_;
  std::vector<int> sources_, destinations_;
};

/// Dimensions descend. An exact search minimises the spread, then maximises the smallest. `count` >
/// 0.
[[nodiscard]] std::vector<int> balanced_dims(int nodes, int count);

}  // namespace tern::core
