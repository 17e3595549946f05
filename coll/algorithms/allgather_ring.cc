// SPDX-License-Identifier: Apache-2.0
// Ring allgather: every rank forwards each received block.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void allgather_ring(Builder& b) {
  b.copy(Builder::input(), Builder::output(b.rank()));
  for (int32_t round = 0; round + 1 < b.ranks(); ++round) {
    b.send(b.ring(1), Builder::output(b.ring(-round)));
    b.recv(b.ring(-1), Builder::output(b.ring(-round - 1)));
  }
}

}  // namespace tern::coll
