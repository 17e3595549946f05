// SPDX-License-Identifier: Apache-2.0
// Barrier in one shot: everybody tells all others, and hears from all. Why: one hop, where each
// rank reaches all others as fast; kernels run it by words of LL (coll/gpu/push_run.hpp). Cost: p -
// 1 signals in one round, no bytes.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void barrier_one_shot(Builder& b) {
  for (int32_t round = 1; round < b.ranks(); ++round) b.signal(b.ring(round), round - 1);
  for (int32_t round = 1; round < b.ranks(); ++round) b.wait(b.ring(-round), round - 1);
}

}  // namespace tern::coll
