// SPDX-License-Identifier: Apache-2.0
// Linear allgather: everybody sends its block to everybody, with a window; the order keeps any one
// rank from being everybody's first target. Cost: p - 1 messages of one block each way, no rank
// waits for another's progress. Serves irregular blocks.
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
