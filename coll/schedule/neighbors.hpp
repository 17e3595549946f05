// SPDX-License-Identifier: Apache-2.0
// Neighbors: a rank's sources and destinations in a neighbourhood collective. Matching: the k-th
// block for a peer matches the peer's k-th block from this rank. In a grid, data for place 2 d or 2
// d + 1 (down or up in dimension d) arrives at the other of these two places, even if one process
// is the peer in both directions. See: MPI-5.0 sections 8.5 to 8.7.
#pragma once

#include <cstdint>
#include <vector>

namespace tern::core {
class Topology;
}

namespace tern::coll {

/// kNoRank: a neighbour outside the grid, with a block but no message.
inline constexpr int32_t kNoRank = -1;

struct Neighbors {
  std::vector<int32_t> sources, destinations;
  bool grid = false;

  bool operator==(const Neighbors&) const = default;
};

[[nodiscard]] Neighbors neighbors_of(const core::Topology& topology);

/// place_there() is the sender's destination index for `mine.sources[i]`, or -1. `theirs` are the
/// sender's neighbours.
[[nodiscard]] int32_t place_there(const Neighbors& mine, int32_t rank, int32_t i,
                                  const Neighbors& theirs) noexcept;

// The following neighbourhoods serve proofs and tests.

[[nodiscard]] std::vector<Neighbors> grid_of(int32_t ranks, int32_t dimensions, bool periodic);
/// Edges include duplicates and self-edges.
[[nodiscard]] std::vector<Neighbors> random_graph(int32_t ranks, int32_t edges, uint32_t seed);

}  // namespace tern::coll
