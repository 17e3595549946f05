// SPDX-License-Identifier: Apache-2.0
// Tree allreduce: reduction to rank 0 and broadcast along one binomial tree; chunks move up and
// down at once. Operands stay in rank order, and results are bitwise equal.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {

void allreduce_tree(Builder& b) {
  const RankPlace place = k_nomial_place(b.ranks(), 0, 2, b.rank());
  const Slice sum = reduce_up(b, place);
  if (place.parent >= 0) {
    b.recv(place.parent, Builder::output());
  } else {
    b.copy(sum, Builder::output());
  }
  for (const int32_t child : place.children) b.send(child, Builder::output());
}

}  // namespace tern::coll
