// SPDX-License-Identifier: Apache-2.0
// Linear scan and exscan: each rank adds its input to the previous rank's result and forwards chunk
// after chunk. Operands stay in rank order.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void scan_linear(Builder& b) {
  b.stage(1);
  if (b.rank() == 0) {
    b.copy(Builder::input(), Builder::output());
  } else {
    b.recv(b.rank() - 1, Builder::staged(0));
    b.reduce(Builder::staged(0), Builder::input(), Builder::output());
  }
  if (b.rank() + 1 < b.ranks()) b.send(b.rank() + 1, Builder::output());
}

void exscan_linear(Builder& b) {
  const Slice before = Builder::staged(0), with_mine = Builder::staged(1);
  const bool last = b.rank() + 1 == b.ranks();
  b.stage(2);
  if (b.rank() == 0) {
    if (!last) b.send(1, Builder::input());
    return;
  }
  b.recv(b.rank() - 1, before);
  if (!last) {
    b.reduce(before, Builder::input(), with_mine);
    b.send(b.rank() + 1, with_mine);
  }
  b.copy(before, Builder::output());
}

}  // namespace tern::coll
