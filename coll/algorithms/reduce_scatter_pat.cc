// SPDX-License-Identifier: Apache-2.0
// Parallel trees reduce-scatter: every block is summed up a binomial tree of its own to its rank,
// the nearest ranks first, so few bytes go far. All trees share their rounds.
// Cost: lg p rounds; n bytes per rank; p - 1 messages.
// See: Jeaugey 2025 (arXiv 2506.20252, NCCL's PAT).
// Definitions: the mirror holds sums of other ranks' blocks; a node has a lane, with a slot.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/ranks.hpp"

namespace tern::coll {

// A rank at distance v behind a block's rank is node v of the block's tree.
void reduce_scatter_pat(Builder& b) {
  const int32_t ranks = b.ranks(), slots = std::min(kSlots, ranks);
  const auto block = [&](int32_t node) { return b.ring(-node); };
  const auto sum = [&](int32_t node) {
    if (node == 0) return Builder::output();
    return Slice{Space::kMirror, block(node), 1, block(node)};
  };
  const auto held = [&](int32_t node, int32_t near) {
    const bool leaf = near == 1 || node + 1 >= ranks;
    return leaf ? Builder::input(block(node)) : sum(node);
  };
  b.mirrors(1);
  b.stage(slots);
  b.lanes(slots);
  for (int32_t near = 1; near < ranks; near *= 2)
    for (int32_t node = 0; node + near < ranks; node += 2 * near) {
      const int32_t lane = node / 2 % slots;
      const Slice received = Builder::staged(lane, block(node));
      b.lane(lane);
      b.send(b.ring(-near), held(node + near, near));
      b.recv(b.ring(near), received);
      b.reduce(received, held(node, near), sum(node));
    }
  if (ranks == 1) b.copy(Builder::input(), Builder::output());
}

}  // namespace tern::coll
