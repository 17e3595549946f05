// SPDX-License-Identifier: Apache-2.0
// Bine reduce-scatter: partners at distances 1, 1, 3, 5, ..., so the first steps, with most bytes,
// go near.
// Cost: lg p rounds; n bytes per rank.
// See: De Sensi et al. 2025 (arXiv 2508.17311).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/swing.hpp"

namespace tern::coll {

void reduce_scatter_bine(Builder& b) {
  const Fold fold{b.ranks(), b.rank()};
  b.mirrors(2);
  HeldBlocks held{.spare = kAtSecondMirror, .blocks = b.ranks()};
  fold_in(b, fold, held);
  if (fold.idle()) return b.recv(fold.mate(), Builder::output());
  swing_down(b, fold, held, blocks_of_ranks);
  if (fold.paired()) b.send(fold.mate(), slice_at(b, held.at, fold.mate(), 1));
  b.copy(slice_at(b, held.at, b.rank(), 1), Builder::output());
}

}  // namespace tern::coll
