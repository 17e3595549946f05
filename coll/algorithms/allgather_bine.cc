// SPDX-License-Identifier: Apache-2.0
// Bine allgather: partners at distances ..., 5, 3, 1, 1, so the first steps, with few bytes, go
// far, and the last, with most, go near.
// Cost: lg p rounds; n bytes per rank.
// See: De Sensi et al. 2025 (arXiv 2508.17311).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/swing.hpp"

namespace tern::coll {

void allgather_bine(Builder& b) {
  const Fold fold{b.ranks(), b.rank()};
  b.window(kWindow);
  b.copy(Builder::input(), Builder::output(b.rank()));
  if (fold.idle()) {
    b.send(fold.mate(), Builder::input());
    for (int32_t rank = 0; rank < b.ranks(); ++rank)
      if (rank != b.rank()) b.recv(fold.mate(), Builder::output(rank));
    return;
  }
  if (fold.paired()) b.recv(fold.mate(), Builder::output(fold.mate()));
  swing_back(b, fold, blocks_of_ranks, false);
  for (int32_t rank = 0; rank < b.ranks() && fold.paired(); ++rank)
    if (rank != fold.mate()) b.send(fold.mate(), Builder::output(rank));
}

}  // namespace tern::coll
