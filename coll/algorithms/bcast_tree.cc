// SPDX-License-Identifier: Apache-2.0
// Tree broadcast: a rank sends to its children, largest subtree first, chunk after chunk.
// Trees: binomial, 4-nomial (fewer rounds, more sends each), bine (nearer ranks), by levels (one
// message into each host).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {
namespace {

void bcast_along(Builder& b, const RankPlace& place) {
  if (place.parent >= 0) b.recv(place.parent, Builder::output());
  for (const int32_t child : place.children) b.send(child, Builder::output());
}

}  // namespace

void bcast_binomial(Builder& b) {
  bcast_along(b, k_nomial_place(b.ranks(), b.root(), 2, b.rank()));
}
void bcast_knomial(Builder& b) {
  bcast_along(b, k_nomial_place(b.ranks(), b.root(), kRadix, b.rank()));
}
void bcast_bine(Builder& b) { bcast_along(b, bine_place(b.ranks(), b.root(), b.rank())); }
void bcast_two_level(Builder& b) {
  bcast_along(b, place_by_levels(b.levels(), b.ranks(), b.root(), b.rank()));
}

}  // namespace tern::coll
