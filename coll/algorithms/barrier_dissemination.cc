// SPDX-License-Identifier: Apache-2.0
// Dissemination barrier: in round k each rank signals the rank 2^k further and waits for the rank
// 2^k before.
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
