// SPDX-License-Identifier: Apache-2.0
#include "coll/engine/pairs.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "coll/schedule/neighbors.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

using enum Collective;

void add(std::vector<PairBlock>* blocks, const Side& side, int32_t block, int32_t peer) {
  const PairBlock made{block_of(side, block), peer};
  if (peer != kNoRank && made.data.count > 0 && made.data.bytes() > 0) blocks->push_back(made);
}

Pairs of_neighborhood(const Operation& operation) {
  Pairs pairs;
  const Neighbors all = neighbors_of(*operation.communicator->topology);
  const bool one = operation.collective == kNeighborAllgather;
  const auto count = [](const std::vector<int32_t>& ranks) {
    return static_cast<int32_t>(ranks.size());
  };
  for (int32_t i = 0; i < count(all.destinations); ++i)
    add(&pairs.sent, operation.input, one ? -1 : i, all.destinations[static_cast<size_t>(i)]);
  // Receivers follow the sender's order: grid places are opposite (neighbors.hpp).
  for (int32_t i = 0; i < count(all.sources); ++i) {
    const int32_t place = all.grid ? i ^ 1 : i;
    add(&pairs.received, operation.output, place, all.sources[static_cast<size_t>(place)]);
  }
  return pairs;
}

// In place, the root's block stays. The order of the ranks spreads the load.
Pairs of_ranks(const Operation& operation) {
  Pairs pairs;
  const int rank = operation.communicator->rank(), root = operation.root;
  const int ranks = operation.communicator->size();
  const bool in_place = operation.in_place;
  const Side& input = operation.input;
  const Side& output = operation.output;
  const auto stays = [&](int peer) { return in_place && peer == rank; };
  pairs.sent.reserve(static_cast<size_t>(ranks));
  pairs.received.reserve(static_cast<size_t>(ranks));
  for (int k = 1; k <= ranks; ++k) {
    const int to = (rank + k) % ranks, from = (rank + ranks - k) % ranks;
    switch (operation.collective) {
      case kGather:
        if (rank == root && !stays(from)) add(&pairs.received, output, from, from);
        if (to == root && !in_place) add(&pairs.sent, input, -1, root);
        break;
      case kScatter:
        if (rank == root && !stays(to)) add(&pairs.sent, input, to, to);
        if (from == root && !in_place) add(&pairs.received, output, -1, root);
        break;
      default:
        if (!stays(to)) add(&pairs.sent, in_place ? output : input, to, to);
        if (!stays(from)) add(&pairs.received, output, from, from);
    }
  }
  return pairs;
}

void check_own(const Pairs& pairs, int rank) {
  size_t i = 0, j = 0;
  const auto next = [&](const std::vector<PairBlock>& blocks, size_t* at) {
    while (*at < blocks.size() && blocks[*at].peer != rank) ++*at;
    return *at < blocks.size() ? blocks[(*at)++].data.bytes() : 0;
  };
  while (i < pairs.sent.size() || j < pairs.received.size()) {
    const size_t out = next(pairs.sent, &i), in = next(pairs.received, &j);
    if (out != in)
      throw Error(MPI_ERR_TRUNCATE, strf("rank %d sends itself a block of %zu bytes, but receives "
                                         "%zu",
                                         rank, out, in));
  }
}

}  // namespace

bool goes_by_pairs(const Operation& operation) noexcept {
  const Collective what = operation.collective;
  return neighborly(what) ||
         (operation.irregular && (what == kGather || what == kScatter || what == kAlltoall));
}

Pairs pairs_of(const Operation& operation) {
  Pairs pairs = neighborly(operation.collective) ? of_neighborhood(operation) : of_ranks(operation);
  check_own(pairs, operation.communicator->rank());
  return pairs;
}

}  // namespace tern::coll
