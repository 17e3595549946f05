// SPDX-License-Identifier: Apache-2.0
// Broadcast along two trees, each with half of the vector; inner ranks of a tree are leaves of the
// other tree: every rank sends and receives n bytes. Definitions: node v is the v-th rank after the
// root, and the root feeds both trees; lane and half t belong to tree t.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {

void bcast_double_tree(Builder& b) {
  b.split(2);
  b.lanes(2);
  const int32_t mine = b.wrap(b.rank() - b.root());
  const auto rank_of = [&](int32_t node) { return b.wrap(node + b.root()); };
  for (int t = 0; t < 2; ++t) {
    const DoubleTree tree{b.ranks() - 1, t == 1};
    const Slice half = Builder::output(t);
    b.lane(t);
    if (mine == 0) {
      for (int32_t node = 1; node < b.ranks(); ++node)
        if (tree.parent(node) == 0) b.send(rank_of(node), half);
      continue;
    }
    b.recv(rank_of(tree.parent(mine)), half);
    if (tree.left(mine) != 0) b.send(rank_of(tree.left(mine)), half);
    if (tree.right(mine) != 0) b.send(rank_of(tree.right(mine)), half);
  }
}

}  // namespace tern::coll
