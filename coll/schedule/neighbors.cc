// SPDX-License-Identifier: Apache-2.0
// Neighbourhoods: from a communicator's topology, and synthetic.
#include "coll/schedule/neighbors.hpp"

#include <algorithm>
#include <random>

#include "core/topology.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

std::vector<int32_t> places(const std::vector<int>& ranks) {
  std::vector<int32_t> made(ranks.begin(), ranks.end());
  std::replace(made.begin(), made.end(), int32_t{MPI_PROC_NULL}, kNoRank);
  return made;
}

}  // namespace

Neighbors neighbors_of(const core::Topology& topology) {
  return {places(topology.sources()), places(topology.destinations()),
          topology.cartesian() != nullptr};
}

int32_t place_there(const Neighbors& mine, int32_t rank, int32_t i,
                    const Neighbors& theirs) noexcept {
  const int32_t sender = mine.sources[static_cast<size_t>(i)];
  if (mine.grid) {
    const auto there = static_cast<size_t>(i ^ 1);
    return there < theirs.destinations.size() && theirs.destinations[there] == rank ? i ^ 1 : -1;
  }
  auto before = std::count(mine.sources.begin(), mine.sources.begin() + i, sender);
  for (size_t j = 0; j < theirs.destinations.size(); ++j)
    if (theirs.destinations[j] == rank && before-- == 0) return static_cast<int32_t>(j);
  return -1;
}

std::vector<Neighbors> grid_of(int32_t ranks, int32_t dimensions, bool periodic) {
  const std::vector<int> dims = core::balanced_dims(ranks, dimensions);
  const core::Cartesian grid{dims, std::vector<bool>(dims.size(), periodic)};
  std::vector<Neighbors> all;
  for (int32_t r = 0; r < ranks; ++r) all.push_back(neighbors_of(core::Topology(grid, r)));
  return all;
}

std::vector<Neighbors> random_graph(int32_t ranks, int32_t edges, uint32_t seed) {
  std::mt19937 random(seed);
  const auto any = [&] { return static_cast<int32_t>(random() % static_cast<uint32_t>(ranks)); };
  std::vector<Neighbors> all(static_cast<size_t>(ranks));
  for (int64_t i = 0; i < int64_t{ranks} * edges; ++i) {
    const int32_t from = any(), to = any();
    for (uint32_t times = 1 + (random() % 8 == 0 ? 1 : 0); times > 0; --times) {
      all[static_cast<size_t>(from)].destinations.push_back(to);
      all[static_cast<size_t>(to)].sources.push_back(from);
    }
  }
  for (Neighbors& one : all) {
    std::shuffle(one.sources.begin(), one.sources.end(), random);
    std::shuffle(one.destinations.begin(), one.destinations.end(), random);
  }
  return all;
}

}  // namespace tern::coll
