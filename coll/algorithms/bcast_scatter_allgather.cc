// SPDX-License-Identifier: Apache-2.0
// Broadcast as binomial scatter and ring allgather: the root sends little more than n.
// Definitions: block i of p belongs to the i-th rank after the root.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/ranks.hpp"

namespace tern::coll {

void bcast_scatter_allgather(Builder& b) {
  const int32_t ranks = b.ranks();
  const Binomial tree{ranks, b.wrap(b.rank() - b.root())};
  b.split(ranks);

  if (tree.node != 0)
    b.recv(b.wrap(tree.parent() + b.root()), Builder::output(tree.node, tree.subtree()));
  for (int32_t step = tree.reach() / 2; step > 0; step /= 2)
    if (tree.node + step < ranks)
      b.send(b.ring(step), Builder::output(tree.node + step, tree.width(step)));

  // The predecessor skips blocks already received in the scatter.
  const Binomial next{ranks, (tree.node + 1) % ranks};
  const auto has = [](const Binomial& at, int32_t block) {
    return at.node == 0 || (block >= at.node && block < at.node + at.subtree());
  };
  for (int32_t round = 0; round + 1 < ranks; ++round) {
    const int32_t mine = b.wrap(tree.node - round);
    const int32_t theirs = b.wrap(tree.node - round - 1);
    if (!has(next, mine)) b.send(b.ring(1), Builder::output(mine));
    if (!has(tree, theirs)) b.recv(b.ring(-1), Builder::output(theirs));
  }
}

}  // namespace tern::coll
