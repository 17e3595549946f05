// SPDX-License-Identifier: Apache-2.0
#include "coll/engine/pairs.hpp"

#include <algorithm>

#include "coll/schedule/neighbors.hpp"

namespace tern::coll {
namespace {

using enum Collective;

/// `block`: as of block_of().
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
  // In the order of the sender's places, which in a grid are the opposite ones (neighbors.hpp).
  for (int32_t i = 0; i < count(all.sources); ++i) {
    const int32_t place = all.grid ? i ^ 1 : i;
    add(&pairs.received, operation.output, place, all.sources[static_cast<size_t>(place)]);
  }
  return pairs;
}

}  // namespace

bool goes_by_pairs(const Operation& operation) noexcept {
  const Collective what = operation.collective;
  return neighborly(what) ||
         (operation.irregular && (what == kGather || what == kScatter || what == kAlltoall));
}

// In place the root's own block stays where it is.
Pairs pairs_of(const Operation& operation) {
  if (neighborly(operation.collective)) return of_neighborhood(operation);
  Pairs pairs;
  const int rank = operation.communicator->rank(), root = operation.root;
  const int ranks = operation.communicator->size();
  const bool in_place = operation.in_place;
  const Side& input = operation.input;
  const Side& output = operation.output;
  for (int peer = 0; peer < ranks; ++peer) {
    const bool stays = in_place && peer == rank;
    switch (operation.collective) {
      case kGather:
        if (rank == root && !stays) add(&pairs.received, output, peer, peer);
        if (peer == root && !in_place) add(&pairs.sent, input, -1, root);
        break;
      case kScatter:
        if (rank == root && !stays) add(&pairs.sent, input, peer, peer);
        if (peer == root && !in_place) add(&pairs.received, output, -1, root);
        break;
      default:
        if (stays) break;
        add(&pairs.sent, in_place ? output : input, peer, peer);
        add(&pairs.received, output, peer, peer);
    }
  }
  return pairs;
}

}  // namespace tern::coll
