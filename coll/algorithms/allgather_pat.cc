// SPDX-License-Identifier: Apache-2.0
// Parallel trees allgather: every block goes down a binomial tree of its own from its rank, the
// farthest ranks first, so few bytes go far. All trees share their rounds.
// Cost: lg p rounds; n bytes per rank; p - 1 messages.
// See: Jeaugey 2025 (arXiv 2506.20252, NCCL's PAT).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/ranks.hpp"

namespace tern::coll {

// A rank at distance v behind a block's rank is node v of the block's tree.
void allgather_pat(Builder& b) {
  const int32_t ranks = b.ranks();
  const auto held = [&](int32_t node) {
    return node == 0 ? Builder::input() : Builder::output(b.ring(-node));
  };
  b.window(kWindow);
  for (int32_t far = low_bit(0, ranks) / 2; far > 0; far /= 2)
    for (int32_t node = 0; node < ranks; node += 2 * far) {
      if (node + far < ranks) b.send(b.ring(far), held(node));
      if (node + far < ranks) b.recv(b.ring(-far), held(node + far));
    }
  b.copy(Builder::input(), Builder::output(b.rank()));
}

}  // namespace tern::coll
