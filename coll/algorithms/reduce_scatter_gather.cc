// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's reduce: reduce-scatter by recursive halving, then every rank sends its block to
// the root. Operands stay in rank order.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/halving.hpp"

namespace tern::coll {

void reduce_scatter_gather(Builder& b) {
  const Fold fold{b.ranks(), b.rank()};
  b.split(fold.size());
  b.mirrors(2);
  HeldBlocks held{.spare = kAtSecondMirror, .blocks = fold.size()};
  fold_in(b, fold, held);
  if (!fold.idle()) {
    halve(b, fold, held);
    if (b.rank() != b.root()) b.send(b.root(), slice_of(b, held));
  }
  if (b.rank() != b.root()) return;
  for (int32_t number = 0; number < fold.size(); ++number) {
    const int32_t from = fold.rank_of(number);
    const Slice block = Builder::output(halved_block(fold, number));
    if (from != b.rank())
      b.recv(from, block);
    else
      b.copy(slice_of(b, held), block);
  }
}

}  // namespace tern::coll
