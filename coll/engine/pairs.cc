// SPDX-License-Identifier: Apache-2.0
#include "coll/engine/pairs.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "coll/schedule/neighbors.hpp"
#include "mpi.h"

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

// In place the root's own block stays where it is.
Pairs of_ranks(const Operation& operation) {
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

/// What a rank sends itself, block by block.
void check_own(const Pairs& pairs, const Operation& operation) {
  const int rank = operation.communicator->rank();
  const auto sizes = [&](const std::vector<PairBlock>& blocks) {
    std::vector<size_t> own;
    for (const PairBlock& one : blocks)
      if (one.peer == rank) own.push_back(one.data.bytes());
    return own;
  };
  const std::vector<size_t> sent = sizes(pairs.sent), received = sizes(pairs.received);
  for (size_t i = 0; i < std::max(sent.size(), received.size()); ++i) {
    const size_t out = i < sent.size() ? sent[i] : 0, in = i < received.size() ? received[i] : 0;
    if (out != in)
      throw Error(
          MPI_ERR_TRUNCATE,
          strf("rank %d sends itself a block of %zu bytes, but receives %zu", rank, out, in));
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
  check_own(pairs, operation);
  return pairs;
}

}  // namespace tern::coll
