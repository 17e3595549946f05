// SPDX-License-Identifier: Apache-2.0
// Recursive halving reduce-scatter: partners at distance p / 2, p / 4, ... exchange the half of the
// blocks owned by the partner's side, and add the blocks. Definitions: active number i owns the
// blocks of the ranks folded into it.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/halving.hpp"

namespace tern::coll {

void reduce_scatter_recursive_halving(Builder& b) {
  const Fold fold{b.ranks(), b.rank()};
  b.mirrors(2);
  HeldBlocks held{.spare = kAtSecondMirror, .blocks = b.ranks()};
  fold_in(b, fold, held);
  if (fold.idle()) return b.recv(fold.mate(), Builder::output());

  int32_t low = 0, numbers = fold.size();
  while (numbers > 1) {
    numbers /= 2;
    const bool lower = fold.number() < low + numbers;
    const int32_t partner = fold.rank_of(fold.number() + (lower ? numbers : -numbers));
    const int32_t middle = fold.ranks_before(low + numbers), end = held.low + held.blocks;
    if (lower) {
      b.send(partner, slice_at(b, held.at, middle, end - middle));
      held.blocks = middle - held.low;
    } else {
      b.send(partner, slice_at(b, held.at, held.low, middle - held.low));
      held.low = middle;
      held.blocks = end - middle;
      low += numbers;
    }
    meet(b, held, partner);
  }
  if (fold.paired()) b.send(fold.mate(), slice_at(b, held.at, b.rank() - 1, 1));
  b.copy(slice_at(b, held.at, b.rank(), 1), Builder::output());
}

}  // namespace tern::coll
