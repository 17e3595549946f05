// SPDX-License-Identifier: Apache-2.0
// Reduction along two trees, each with half of the vector: the reverse of bcast_double_tree.cc.
// Definitions: stage slots 2 t and 2 t + 1 serve the children in tree t.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {
namespace {

void finish_half(Builder& b, const DoubleTree& tree, int32_t half) {
  for (int32_t node = 1; node < b.ranks(); ++node) {
    if (tree.parent(node) != 0) continue;
    b.recv(b.wrap(node + b.root()), Builder::staged(2 * half, half));
    b.reduce(Builder::staged(2 * half, half), Builder::input(half), Builder::output(half));
  }
  if (b.ranks() == 1) b.copy(Builder::input(half), Builder::output(half));
}

}  // namespace

void reduce_double_tree(Builder& b) {
  b.split(2);
  b.lanes(2);
  b.stage(4);
  const int32_t mine = b.wrap(b.rank() - b.root());
  for (int t = 0; t < 2; ++t) {
    const DoubleTree tree{b.ranks() - 1, t == 1};
    b.lane(t);
    if (mine == 0) {
      finish_half(b, tree, t);
      continue;
    }
    std::vector<Slice> parts{Builder::input(t)};
    for (const int32_t child : {tree.left(mine), tree.right(mine)}) {
      if (child == 0) continue;
      const auto slot = static_cast<int32_t>(2 * t + std::ssize(parts) - 1);
      b.recv(b.wrap(child + b.root()), Builder::staged(slot, t));
      parts.push_back(Builder::staged(slot, t));
    }
    const Slice held = parts.back();
    if (parts.size() > 1) b.reduce(parts, held);
    b.send(b.wrap(tree.parent(mine) + b.root()), held);
  }
}

}  // namespace tern::coll
