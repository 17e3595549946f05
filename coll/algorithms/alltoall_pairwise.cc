// SPDX-License-Identifier: Apache-2.0
// Pairwise alltoall: in round k every rank sends to the k-th after it and receives from the k-th
// before it. Several rounds are under way at once; the order keeps any one rank from being
// everybody's first target. Cost: p - 1 messages of one block; no copies. Serves irregular blocks.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void alltoall_pairwise(Builder& b) {
  b.window(32);
  for (int32_t round = 1; round < b.ranks(); ++round) {
    b.recv(b.ring(-round), Builder::output(b.ring(-round)));
    b.send(b.ring(round), Builder::input(b.ring(round)));
  }
  b.copy(Builder::input(b.rank()), Builder::output(b.rank()));
}

}  // namespace tern::coll
