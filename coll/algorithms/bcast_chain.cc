// SPDX-License-Identifier: Apache-2.0
// Chain broadcast: each rank forwards chunk after chunk; a full chain keeps all links busy.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void bcast_chain(Builder& b) {
  const int32_t place = b.wrap(b.rank() - b.root());
  if (place > 0) b.recv(b.ring(-1), Builder::output());
  if (place + 1 < b.ranks()) b.send(b.ring(1), Builder::output());
}

}  // namespace tern::coll
