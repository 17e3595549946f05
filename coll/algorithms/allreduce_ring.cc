// SPDX-License-Identifier: Apache-2.0
// Ring allreduce: each block circles once to be reduced and once to be distributed. Definitions: in
// round k of the reduction rank r adds the input to block r - k - 1 and forwards the sum; rank r
// completes block r + 1. Results are bitwise equal.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void allreduce_ring(Builder& b) {
  const int32_t ranks = b.ranks();
  b.split(ranks);
  b.stage(2);
  if (ranks == 1) b.copy(Builder::input(), Builder::output());

  for (int32_t round = 0; round + 1 < ranks; ++round) {
    const int32_t gone = b.ring(-round);
    const int32_t come = b.ring(-round - 1);
    const Slice received = Builder::staged(round % 2, come);
    b.send(b.ring(1), round == 0 ? Builder::input(gone) : Builder::output(gone));
    b.recv(b.ring(-1), received);
    b.reduce(received, Builder::input(come), Builder::output(come));
  }
  for (int32_t round = 0; round + 1 < ranks; ++round) {
    b.send(b.ring(1), Builder::output(b.ring(1 - round)));
    b.recv(b.ring(-1), Builder::output(b.ring(-round)));
  }
}

}  // namespace tern::coll
