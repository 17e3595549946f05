// SPDX-License-Identifier: Apache-2.0
// Swing allreduce: reduce-scatter, then allgather, with partners at distances 1, 1, 3, 5, ..., so
// most bytes go to near ranks: on a torus, neighbours. Results are bitwise equal.
// Cost: 2 lg p rounds; 2 n bytes per rank.
// See: De Sensi et al. 2024 (arXiv 2401.09356).
// Definitions: block i of the vector ends on number i of Fold.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/swing.hpp"

namespace tern::coll {

void allreduce_swing(Builder& b) {
  const Fold fold{b.ranks(), b.rank()};
  b.split(fold.size());
  b.mirrors(1);
  HeldBlocks held{.blocks = fold.size()};
  fold_in(b, fold, held);
  if (fold.idle()) return b.recv(fold.mate(), Builder::output(0, fold.size()));
  swing_down(b, fold, held, blocks_of_vector);
  if (held.at != kAtOutput)
    b.copy(slice_at(b, held.at, fold.number(), 1), Builder::output(fold.number()));
  swing_back(b, fold, blocks_of_vector, true);
  if (fold.paired()) b.send(fold.mate(), Builder::output(0, fold.size()));
}

}  // namespace tern::coll
