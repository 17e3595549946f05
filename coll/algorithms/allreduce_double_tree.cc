// SPDX-License-Identifier: Apache-2.0
// Allreduce along two trees: each tree reduces half of the vector to its root and broadcasts the
// sum. Definitions: node v is rank v - 1; half t, lane t and stage slots 2 t and 2 t + 1 (children)
// belong to tree t. Results are bitwise equal on all ranks.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {
namespace {

void allreduce_along(Builder& b, const DoubleTree& tree, int t) {
  const int32_t mine = b.rank() + 1, parent = tree.parent(mine) - 1;
  const Slice result = Builder::output(t);
  std::vector<Slice> parts;
  for (const int32_t child : {tree.left(mine), tree.right(mine)}) {
    if (child == 0) continue;
    parts.push_back(Builder::staged(static_cast<int32_t>(2 * t + std::ssize(parts)), t));
    b.recv(child - 1, parts.back());
  }
  parts.push_back(Builder::input(t));
  if (parts.size() > 1 || parent < 0) b.reduce(parts, result);
  if (parent >= 0) {
    b.send(parent, parts.size() > 1 ? result : Builder::input(t));
    b.recv(parent, result);
  }
  for (const int32_t child : {tree.left(mine), tree.right(mine)})
    if (child != 0) b.send(child - 1, result);
}

}  // namespace

void allreduce_double_tree(Builder& b) {
  b.split(2);
  b.lanes(2);
  b.stage(4);
  for (int t = 0; t < 2; ++t) {
    b.lane(t);
    allreduce_along(b, DoubleTree{b.ranks(), t == 1}, t);
  }
}

}  // namespace tern::coll
