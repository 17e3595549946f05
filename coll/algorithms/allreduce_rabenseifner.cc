// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's allreduce: reduce-scatter by recursive halving, then allgather by recursive
// doubling. Each block is computed once and copied, so the result is bitwise the same everywhere;
// rank order is kept. Cost: 2 log2 p rounds, 2 n (p - 1) / p bytes (2 n more if p is no power of
// two). See: Rabenseifner 2004.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/halving.hpp"

namespace tern::coll {

void allreduce_rabenseifner(Builder& b) {
  const Fold fold{b.ranks(), b.rank()};
  b.split(fold.size());
  b.mirrors(1);
  Held held{.blocks = fold.size()};
  fold_in(b, fold, held);
  if (fold.idle()) {
    b.recv(fold.mate(), Builder::output(0, fold.size()));
    return;
  }
  halve(b, fold, held);
  if (held.at != kAtOutput) b.copy(slice_of(b, held), Builder::output(held.low, held.blocks));

  for (int32_t mask = fold.size() / 2; mask > 0; mask /= 2) {
    const int32_t partner = fold.rank_of(fold.number() ^ mask);
    const int32_t theirs =
        (fold.number() & mask) == 0 ? held.low + held.blocks : held.low - held.blocks;
    b.send(partner, Builder::output(held.low, held.blocks));
    b.recv(partner, Builder::output(theirs, held.blocks));
    held.low = held.low < theirs ? held.low : theirs;
    held.blocks *= 2;
  }
  if (fold.paired()) b.send(fold.mate(), Builder::output(0, fold.size()));
}

}  // namespace tern::coll
