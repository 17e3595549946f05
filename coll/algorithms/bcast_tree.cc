// SPDX-License-Identifier: Apache-2.0
// Tree broadcast: a rank sends to its children, largest subtree first, chunk after chunk.
// Trees: binomial, 4-nomial (fewer rounds, more sends each), bine (nearer ranks), by levels (one
// message into each host).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {
namespace {

void bcast_along(Builder& b, const Tree& tree) {
  if (b.rank() != b.root()) b.recv(tree.parent(b.rank()), Builder::output());
  for (const int32_t child : tree.children(b.rank())) b.send(child, Builder::output());
}

}  // namespace

void bcast_binomial(Builder& b) { bcast_along(b, Tree::k_nomial(b.ranks(), b.root(), 2)); }
void bcast_knomial(Builder& b) { bcast_along(b, Tree::k_nomial(b.ranks(), b.root(), kRadix)); }
void bcast_bine(Builder& b) { bcast_along(b, Tree::bine(b.ranks(), b.root())); }
void bcast_two_level(Builder& b) {
  bcast_along(b, Tree::by_levels(b.levels(), b.ranks(), b.root()));
}

}  // namespace tern::coll
