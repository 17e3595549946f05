// SPDX-License-Identifier: Apache-2.0
// Recursive doubling allreduce: partners at distance 1, 2, 4, ... exchange and combine partial
// results. Operands stay in rank order, and results are bitwise equal.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/halving.hpp"

namespace tern::coll {

void allreduce_recursive_doubling(Builder& b) {
  const Fold fold{b.ranks(), b.rank()};
  b.mirrors(1);
  HeldBlocks held;
  double_up(b, fold, held);
  if (held.at != kAtOutput) b.copy(slice_of(b, held), Builder::output());
}

}  // namespace tern::coll
