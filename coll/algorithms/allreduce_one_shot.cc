// SPDX-License-Identifier: Apache-2.0
// One-shot allreduce: every rank sends a vector to all others and reduces all vectors, in rank
// order. Why: a single hop, and bitwise equal results; kernels use LL (coll/gpu/push_run.hpp). See:
// Shah et al. 2025 (MSCCL++, "one-phase all-pairs").
#include "coll/algorithms/algorithms.hpp"
#include "coll/emitters.hpp"

namespace tern::coll {

void allreduce_one_shot(Builder& b) {
  const int32_t ranks = b.ranks(), mine = b.rank(), last = ranks - 1;
  b.stage(ranks);
  b.window(kWindow);
  std::vector<Slice> all;
  for (int32_t rank = 0; rank < ranks; ++rank)
    all.push_back(rank == mine ? Builder::input() : Builder::staged(rank));
  for (int32_t round = 1; round < ranks; ++round) {
    b.recv(b.ring(-round), all[static_cast<size_t>(b.ring(-round))]);
    b.send(b.ring(round), Builder::input());
  }
  // In place, only the last operand may be overwritten by the reduction.
  const Slice sum = mine == last ? Builder::output() : Builder::staged(last);
  if (ranks > 1) b.reduce(all, sum);
  if (mine != last || ranks == 1) b.copy(ranks == 1 ? all[0] : sum, Builder::output());
}

}  // namespace tern::coll
