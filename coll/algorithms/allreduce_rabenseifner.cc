// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's allreduce: reduce-scatter by recursive halving, then allgather by recursive
// doubling. Rank order; bitwise equal results. Cost: 2 log2 p rounds, 2 n (p - 1) / p bytes (2 n
// more unless p is a power of two). See: Rabenseifner 2004.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/halving.hpp"

namespace tern::coll {

void allreduce_rabenseifner(Builder& b) {
  const Fold fold{b.ranks(), b.rank()};
  b.split(fold.size());
  b.mirrors(1);
  HeldBlocks held{.blocks = fold.size()};
  fold_in(b, fold, held);
  if (fold.idle()) {
    b.recv(fold.mate(), Builder::output(0, fold.size()));
    return;
  }
  halve(b, fold, held);
  if (held.at != kAtOutput) b.copy(slice_of(b, held), Builder::output(held.low, held.blocks));
  double_back(b, fold, held);
  if (fold.paired()) b.send(fold.mate(), Builder::output(0, fold.size()));
}

}  // namespace tern::coll
