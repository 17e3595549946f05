// SPDX-License-Identifier: Apache-2.0
// Tree allreduce: reduction to rank 0 and broadcast along one binomial tree; chunks move up and
// down at once. Operands stay in rank order, and results are bitwise equal.
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
