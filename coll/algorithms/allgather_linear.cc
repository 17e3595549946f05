// SPDX-License-Identifier: Apache-2.0
// Linear allgather: every rank sends a block to every other rank, within a window, successor first:
// no rank is everyone's first target.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void allgather_linear(Builder& b) {
  b.window(kWindow);
  for (int32_t distance = 1; distance < b.ranks(); ++distance) {
    b.recv(b.ring(-distance), Builder::output(b.ring(-distance)));
    b.send(b.ring(distance), Builder::input());
  }
  b.copy(Builder::input(), Builder::output(b.rank()));
}

}  // namespace tern::coll
