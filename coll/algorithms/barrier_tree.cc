// SPDX-License-Identifier: Apache-2.0
// Tree barrier: signals go up a 4-nomial tree to rank 0 and down again, two per rank.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {
namespace {

constexpr int32_t kTreeUp = 0, kTreeDown = 1;

}  // namespace

void barrier_tree(Builder& b) {
  const Tree tree = Tree::k_nomial(b.ranks(), 0, kRadix);
  const int32_t parent = tree.parent(b.rank());
  const std::vector<int32_t> children = tree.children(b.rank());
  for (const int32_t child : children) b.wait(child, kTreeUp);
  if (parent >= 0) {
    b.signal(parent, kTreeUp);
    b.wait(parent, kTreeDown);
  }
  for (const int32_t child : children) b.signal(child, kTreeDown);
}

}  // namespace tern::coll
