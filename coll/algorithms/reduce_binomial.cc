// SPDX-License-Identifier: Apache-2.0
// Binomial reduction to the root: leaves first, partial results meet in pairs. Two forms: around
// the root, which lets operands change places; and in rank order to rank 0, which hands the result
// on to the root. Definitions: `held` is where the partial result of this node's subtree lies; two
// stage slots take turns, so that held op received can be left where the received part lies. Cost:
// ceil(log2 p) rounds (one more in order), n bytes each. See: Thakur, Rabenseifner, Gropp 2005.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/ranks.hpp"

namespace tern::coll {
namespace {

// Reduces to node 0 of the ranks turned by `first`. Returns where this rank's result lies.
Slice to_first(Builder& b, int32_t first) {
  const Binomial tree{b.ranks(), b.wrap(b.rank() - first)};
  Slice held = Builder::input();
  int32_t slot = 0;
  for (int32_t step = 1; step < tree.reach() && tree.node + step < b.ranks(); step *= 2) {
    const Slice received = Builder::staged(slot);
    b.recv(b.ring(step), received);
    b.reduce(held, received, received);
    held = received;
    slot = 1 - slot;
  }
  if (tree.node != 0) b.send(b.wrap(tree.parent() + first), held);
  return held;
}

}  // namespace

void reduce_binomial(Builder& b) {
  b.stage(2);
  const Slice held = to_first(b, b.root());
  if (b.rank() == b.root()) b.copy(held, Builder::output());
}

void reduce_binomial_ordered(Builder& b) {
  b.stage(2);
  const Slice held = to_first(b, 0);
  if (b.rank() == 0 && b.root() == 0) b.copy(held, Builder::output());
  if (b.rank() == 0 && b.root() != 0) b.send(b.root(), held);
  if (b.rank() != 0 && b.rank() == b.root()) b.recv(0, Builder::output());
}

}  // namespace tern::coll
