// SPDX-License-Identifier: Apache-2.0
// Linear gather: every rank sends to the root, which receives within a window.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void gather_linear(Builder& b) {
  if (b.rank() != b.root()) {
    b.send(b.root(), Builder::input());
    return;
  }
  b.window(kWindow);
  for (int32_t distance = 1; distance < b.ranks(); ++distance) {
    const int32_t from = b.ring(distance);
    b.recv(from, Builder::output(from));
  }
  b.copy(Builder::input(), Builder::output(b.rank()));
}

}  // namespace tern::coll
