// SPDX-License-Identifier: Apache-2.0
// Pairwise reduce-scatter: in round k every rank sends the k-th rank after it that rank's block,
// and adds the block received from the k-th rank before. Sends read the input and wait for nothing.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void reduce_scatter_pairwise(Builder& b) {
  const int32_t slots = std::min(kSlots, b.ranks() - 1);
  b.stage(slots);
  b.copy(Builder::input(b.rank()), Builder::output());
  for (int32_t round = 1; round < b.ranks(); ++round) {
    const Slice received = Builder::staged(round % slots, b.rank());
    b.send(b.ring(round), Builder::input(b.ring(round)));
    b.recv(b.ring(-round), received);
    b.reduce(received, Builder::output(), Builder::output());
  }
}

}  // namespace tern::coll
