// SPDX-License-Identifier: Apache-2.0
// Tree reduction: partial results combine on the way to the root, small subtrees first.
// Trees: binomial, 4-nomial and bine from the root, for commutative operations; binomial in rank
// order to rank 0, then to the root; by levels (a message per host). Definitions: `held` is the
// partial result of this rank's subtree; stage slots alternate: held op received may replace the
// received part.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {

Slice reduce_up(Builder& b, const RankPlace& place) {
  const std::vector<int32_t>& children = place.children;
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
  if (place.parent >= 0) b.send(place.parent, held);
  return held;
}

namespace {

void to_root(Builder& b, const RankPlace& place) {
  const Slice held = reduce_up(b, place);
  if (b.rank() == b.root()) b.copy(held, Builder::output());
}

}  // namespace

void reduce_binomial(Builder& b) { to_root(b, k_nomial_place(b.ranks(), b.root(), 2, b.rank())); }
void reduce_knomial(Builder& b) {
  to_root(b, k_nomial_place(b.ranks(), b.root(), kRadix, b.rank()));
}
void reduce_bine(Builder& b) { to_root(b, bine_place(b.ranks(), b.root(), b.rank())); }
void reduce_two_level(Builder& b) {
  to_root(b, place_by_levels(b.levels(), b.ranks(), b.root(), b.rank()));
}

void reduce_binomial_ordered(Builder& b) {
  const Slice held = reduce_up(b, k_nomial_place(b.ranks(), 0, 2, b.rank()));
  if (b.rank() == 0 && b.root() == 0) b.copy(held, Builder::output());
  if (b.rank() == 0 && b.root() != 0) b.send(b.root(), held);
  if (b.rank() != 0 && b.rank() == b.root()) b.recv(0, Builder::output());
}

}  // namespace tern::coll
