// SPDX-License-Identifier: Apache-2.0
// Recursive doubling allreduce: partners at distance 1, 2, 4, ... exchange partial results and both
// combine them. Everybody brackets the operands alike, so the result is bitwise the same
// everywhere; rank order is kept. Cost: ceil(log2 p) rounds of n bytes (two more if p is no power
// of two). See: Thakur, Rabenseifner, Gropp 2005.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/halving.hpp"

namespace tern::coll {

void allreduce_recursive_doubling(Builder& b) {
  const Fold fold{b.ranks(), b.rank()};
  b.mirrors(1);
  Held held;
  fold_in(b, fold, held);
  if (fold.idle()) {
    b.recv(b.rank() + 1, Builder::output());
    return;
  }
  for (int32_t mask = 1; mask < fold.size(); mask *= 2) {
    const int32_t partner = fold.rank_of(fold.number() ^ mask);
    b.send(partner, slice_of(b, held));
    meet(b, held, partner);
  }
  if (fold.paired()) b.send(b.rank() - 1, slice_of(b, held));
  if (held.at != kAtOutput) b.copy(slice_of(b, held), Builder::output());
}

}  // namespace tern::coll
