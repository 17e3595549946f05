// SPDX-License-Identifier: Apache-2.0
// Pairwise reduce-scatter: in round k a rank sends the k-th next rank's block, and adds the block
// from the k-th previous rank. Sends read the input and wait for nothing. A lane starts steps in
// order, so the first exchanges precede the first reduction: a slow network costs one delay,
// instead of a delay per round.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {
namespace {

Slice received_in(const Builder& b, int32_t round, int32_t slots) {
  return Builder::staged(round % slots, b.rank());
}

void exchange_round(Builder& b, int32_t round, int32_t slots) {
  b.send(b.ring(round), Builder::input(b.ring(round)));
  b.recv(b.ring(-round), received_in(b, round, slots));
}

}  // namespace

void reduce_scatter_pairwise(Builder& b) {
  const int32_t rounds = b.ranks() - 1;
  const int32_t slots = std::min(kSlots, rounds);
  b.stage(slots);
  b.copy(Builder::input(b.rank()), Builder::output());
  for (int32_t round = 1; round <= slots; ++round) exchange_round(b, round, slots);
  for (int32_t round = 1; round <= rounds; ++round) {
    b.reduce(received_in(b, round, slots), Builder::output(), Builder::output());
    if (round + slots <= rounds) exchange_round(b, round + slots, slots);
  }
}

}  // namespace tern::coll
