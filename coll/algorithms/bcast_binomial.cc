// SPDX-License-Identifier: Apache-2.0
// Binomial broadcast: who has the data hands it to the farthest rank that has none, so the holders
// double. Chunks follow each other down the tree. Cost: ceil(log2 p) rounds, n bytes each. See:
// Johnsson, Ho 1989.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/ranks.hpp"

namespace tern::coll {

void bcast_binomial(Builder& b) {
  const Binomial tree{b.ranks(), b.wrap(b.rank() - b.root())};
  if (tree.node != 0) b.recv(b.wrap(tree.parent() + b.root()), Builder::output());
  for (int32_t step = tree.reach() / 2; step > 0; step /= 2)
    if (tree.node + step < b.ranks()) b.send(b.ring(step), Builder::output());
}

}  // namespace tern::coll
