// SPDX-License-Identifier: Apache-2.0
// Pairwise alltoall: in round k every rank sends to the k-th next rank and receives from the k-th
// previous rank. Rounds do not overlap: a link has a single message at once.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void alltoall_pairwise(Builder& b) {
  b.copy(Builder::input(b.rank()), Builder::output(b.rank()));
  b.window(2);
  for (int32_t round = 1; round < b.ranks(); ++round) {
    b.recv(b.ring(-round), Builder::output(b.ring(-round)));
    b.send(b.ring(round), Builder::input(b.ring(round)));
  }
}

}  // namespace tern::coll
