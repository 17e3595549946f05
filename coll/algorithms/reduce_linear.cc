// SPDX-License-Identifier: Apache-2.0
// Linear reduce: every rank sends to the root; the root combines all vectors from the highest rank
// down.
// Why: a single hop; kernels use LL (coll/gpu/push_run.hpp).
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void reduce_linear(Builder& b) {
  const int32_t ranks = b.ranks(), mine = b.rank(), last = ranks - 1;
  if (mine != b.root()) {
    b.send(b.root(), Builder::input());
    return;
  }
  b.stage(ranks);
  b.window(kWindow);
  std::vector<Slice> all;
  for (int32_t rank = 0; rank < ranks; ++rank)
    all.push_back(rank == mine ? Builder::input() : Builder::staged(rank));
  for (int32_t distance = 1; distance < ranks; ++distance)
    b.recv(b.ring(distance), all[static_cast<size_t>(b.ring(distance))]);
  // In place, only the last operand may be overwritten by the reduction.
  const Slice sum = mine == last ? Builder::output() : Builder::staged(last);
  if (ranks > 1) b.reduce(all, sum);
  if (mine != last || ranks == 1) b.copy(ranks == 1 ? all[0] : sum, Builder::output());
}

}  // namespace tern::coll
