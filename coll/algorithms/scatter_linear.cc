// SPDX-License-Identifier: Apache-2.0
// Linear scatter: the root sends every rank its block, within a window.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void scatter_linear(Builder& b) {
  if (b.rank() != b.root()) {
    b.recv(b.root(), Builder::output());
    return;
  }
  b.window(kWindow);
  for (int32_t distance = 1; distance < b.ranks(); ++distance) {
    const int32_t to = b.ring(distance);
    b.send(to, Builder::input(to));
  }
  b.copy(Builder::input(b.rank()), Builder::output());
}

}  // namespace tern::coll
