// SPDX-License-Identifier: Apache-2.0
// Neighbors: to whom one rank sends and from whom it receives in a neighbourhood collective.
// Why: the schedule of a neighbourhood depends on it, and on nothing else of a topology.
// Which message is whose: the k-th that a rank has for another is the k-th that this one has from
// it. In a grid a place decides: what goes to place 2 d or 2 d + 1 (down or up in dimension d)
// arrives at the other of the two, also where both are one process, or the rank itself.
// Lifetime: shared by schedules. Threads: immutable. See: MPI-5.0 sections 8.5 to 8.7.
#pragma once

#include <cstdint>
#include <vector>

namespace tern::core {
class Topology;
}

namespace tern::coll {

/// Beyond the edge of a grid: the block is there, but no message.
inline constexpr int32_t kNoRank = -1;

struct Neighbors {
  std::vector<int32_t> sources, destinations;
  bool grid = false;

  bool operator==(const Neighbors&) const = default;
};

[[nodiscard]] Neighbors neighbors_of(const core::Topology& topology);

/// The place among the sender's destinations of what comes from place `i` of `mine.sources`; -1
/// where the sender has no such edge. `theirs` are the sender's neighbours.
[[nodiscard]] int32_t place_there(const Neighbors& mine, int32_t rank, int32_t i,
                                  const Neighbors& theirs) noexcept;

// Made up neighbourhoods of all ranks, for proofs, tests and pictures.

/// A grid as square as can be, in one dimension or more; periodic in all, or in none.
[[nodiscard]] std::vector<Neighbors> grid_of(int32_t ranks, int32_t dimensions, bool periodic);
/// `edges` edges for each rank on average, some twice, some from a rank to itself.
[[nodiscard]] std::vector<Neighbors> random_graph(int32_t ranks, int32_t edges, uint32_t seed);

}  // namespace tern::coll
