// SPDX-License-Identifier: Apache-2.0
// Dissemination barrier: in round k everybody tells the rank 2^k further on, and hears from the one
// 2^k back. Cost: ceil(log2 p) rounds, no bytes. See: Hensgen, Finkel, Manber 1988.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void barrier_dissemination(Builder& b) {
  int32_t round = 0;
  for (int32_t distance = 1; distance < b.ranks(); distance *= 2, ++round) {
    b.signal(b.ring(distance), round);
    b.wait(b.ring(-distance), round);
  }
}

}  // namespace tern::coll
