// SPDX-License-Identifier: Apache-2.0
// Barrier along a tree: word that a subtree has entered goes up to rank 0, word that all have comes
// down. Trees: 4-nomial (two messages per rank in all), by levels (one word of each host). Cost:
// 2 ceil(log4 p) rounds, no bytes. See: Mellor-Crummey, Scott 1991.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {
namespace {

constexpr int32_t kTreeUp = 0, kTreeDown = 1;

void barrier_along(Builder& b, const Tree& tree) {
  const int32_t parent = tree.parent(b.rank());
  const std::vector<int32_t> children = tree.children(b.rank());
  for (const int32_t child : children) b.wait(child, kTreeUp);
  if (parent >= 0) {
    b.signal(parent, kTreeUp);
    b.wait(parent, kTreeDown);
  }
  for (const int32_t child : children) b.signal(child, kTreeDown);
}

}  // namespace

void barrier_tree(Builder& b) { barrier_along(b, Tree::k_nomial(b.ranks(), 0, kRadix)); }
void barrier_two_level(Builder& b) { barrier_along(b, Tree::by_levels(b.levels(), b.ranks(), 0)); }

}  // namespace tern::coll
