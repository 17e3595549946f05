// SPDX-License-Identifier: Apache-2.0
// Two-shot allreduce: each rank receives its part of every vector, reduces in rank order, and sends
// the result to all.
// Why: two hops at the ring's bytes, fastest with full-speed links between all ranks (a switch);
// bitwise equal results.
// See: Cowan et al. 2023 (MSCCLang, "all pairs").
#include "coll/algorithms/algorithms.hpp"
#include "coll/emitters.hpp"

namespace tern::coll {

void allreduce_two_shot(Builder& b) {
  const int32_t ranks = b.ranks(), mine = b.rank(), last = ranks - 1;
  b.split(ranks);
  b.stage(ranks);
  b.window(kWindow);
  std::vector<Slice> parts;
  for (int32_t rank = 0; rank < ranks; ++rank)
    parts.push_back(rank == mine ? Builder::input(mine) : Builder::staged(rank, mine));
  for (int32_t round = 1; round < ranks; ++round) {
    b.recv(b.ring(-round), parts[static_cast<size_t>(b.ring(-round))]);
    b.send(b.ring(round), Builder::input(b.ring(round)));
  }
  // In place, only the last operand may be overwritten by the reduction.
  const Slice sum = mine == last ? Builder::output(mine) : Builder::staged(last, mine);
  if (ranks > 1) b.reduce(parts, sum);
  if (mine != last || ranks == 1) b.copy(ranks == 1 ? parts[0] : sum, Builder::output(mine));
  for (int32_t round = 1; round < ranks; ++round) {
    b.recv(b.ring(-round), Builder::output(b.ring(-round)));
    b.send(b.ring(round), sum);
  }
}

}  // namespace tern::coll
