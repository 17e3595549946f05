// SPDX-License-Identifier: Apache-2.0
// Linear broadcast: the root sends to every rank; optimal for two ranks.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void bcast_linear(Builder& b) {
  if (b.rank() != b.root()) {
    b.recv(b.root(), Builder::output());
    return;
  }
  b.window(kWindow);
  for (int32_t distance = 1; distance < b.ranks(); ++distance)
    b.send(b.ring(distance), Builder::output());
}

}  // namespace tern::coll
