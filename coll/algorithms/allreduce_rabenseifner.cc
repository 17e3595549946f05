// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's allreduce: reduce-scatter by recursive halving, then allgather by recursive
// doubling. Operands stay in rank order, and results are bitwise equal.
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
