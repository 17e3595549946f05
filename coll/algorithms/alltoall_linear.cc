// SPDX-License-Identifier: Apache-2.0
// Linear alltoall: all messages go directly, as many at once as a window allows; the order keeps
// any one rank from being everybody's first target. Cost: p - 1 messages of one block; no copies,
// and no rank waits for a slow one before the window is full. Serves irregular blocks.
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
