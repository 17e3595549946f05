// SPDX-License-Identifier: Apache-2.0
// Allreduce as reduction to rank 0 and broadcast from there, along one binomial tree; chunks go up
// and down at the same time. Rank order is kept, and what rank 0 has is copied, so the result is
// bitwise the same everywhere. Cost: 2 ceil(log2 p) rounds of n bytes.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {

void allreduce_tree(Builder& b) {
  const Tree tree = Tree::k_nomial(b.ranks(), 0, 2);
  const int32_t parent = tree.parent(b.rank());
  const std::vector<int32_t> children = tree.children(b.rank());
  const auto slots = std::min(kSlots, static_cast<int32_t>(children.size()));
  b.stage(slots);
  Slice held = Builder::input();
  int32_t slot = 0;
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    const Slice received = Builder::staged(slot++ % slots);
    b.recv(*child, received);
    b.reduce(held, received, received);
    held = received;
  }
  if (parent >= 0) {
    b.send(parent, held);
    b.recv(parent, Builder::output());
  } else {
    b.copy(held, Builder::output());
  }
  for (const int32_t child : children) b.send(child, Builder::output());
}

}  // namespace tern::coll
