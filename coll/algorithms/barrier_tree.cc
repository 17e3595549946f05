// SPDX-License-Identifier: Apache-2.0
// Tree barrier: signals go up a 4-nomial tree to rank 0 and down again, two per rank.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {
namespace {

constexpr int32_t kTreeUp = 0, kTreeDown = 1;

}  // namespace

void barrier_tree(Builder& b) {
  const RankPlace place = k_nomial_place(b.ranks(), 0, kRadix, b.rank());
  for (const int32_t child : place.children) b.wait(child, kTreeUp);
  if (place.parent >= 0) {
    b.signal(place.parent, kTreeUp);
    b.wait(place.parent, kTreeDown);
  }
  for (const int32_t child : place.children) b.signal(child, kTreeDown);
}

}  // namespace tern::coll
