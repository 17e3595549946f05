// SPDX-License-Identifier: Apache-2.0
// Allreduce as reduction to rank 0 and broadcast from there, along one binomial tree; chunks go up
// and down at the same time. Rank order is kept, and what rank 0 has is copied, so the result is
// bitwise the same everywhere. Cost: 2 ceil(log2 p) rounds of n bytes.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {

void allreduce_tree(Builder& b) {
  const Tree tree = Tree::k_nomial(b.ranks(), 0, 2);
  const int32_t parent = tree.parent(b.rank());
  const Slice sum = reduce_up(b, tree);
  if (parent >= 0) {
    b.recv(parent, Builder::output());
  } else {
    b.copy(sum, Builder::output());
  }
  for (const int32_t child : tree.children(b.rank())) b.send(child, Builder::output());
}

}  // namespace tern::coll
