// SPDX-License-Identifier: Apache-2.0
// Linear alltoall: direct messages within a window, successor first: no rank is everyone's first
// target.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void alltoall_linear(Builder& b) {
  b.window(kWindow);
  for (int32_t round = 1; round < b.ranks(); ++round) {
    b.recv(b.ring(-round), Builder::output(b.ring(-round)));
    b.send(b.ring(round), Builder::input(b.ring(round)));
  }
  b.copy(Builder::input(b.rank()), Builder::output(b.rank()));
}

}  // namespace tern::coll
