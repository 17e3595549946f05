// SPDX-License-Identifier: Apache-2.0
// Parallel trees allgather: a binomial tree from each rank carries the rank's block, to the
// farthest ranks first: few bytes go far. The trees share rounds. Cost: lg p rounds; n bytes per
// rank; p - 1 messages. See: Jeaugey 2025 (arXiv 2506.20252, NCCL's PAT).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/ranks.hpp"

namespace tern::coll {

// The rank at distance v behind a root is node v of the root's tree.
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
