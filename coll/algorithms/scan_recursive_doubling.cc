// SPDX-License-Identifier: Apache-2.0
// Recursive doubling scan and exscan: in round k a rank receives the partial result of the 2^k
// ranks up to the rank 2^k before, and prepends the result. Operands stay in rank order.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void scan_recursive_doubling(Builder& b) {
  b.stage(1);
  b.copy(Builder::input(), Builder::output());
  for (int32_t distance = 1; distance < b.ranks(); distance *= 2) {
    if (b.rank() + distance < b.ranks()) b.send(b.rank() + distance, Builder::output());
    if (b.rank() < distance) continue;
    b.recv(b.rank() - distance, Builder::staged(0));
    b.reduce(Builder::staged(0), Builder::output(), Builder::output());
  }
}

// The stage holds the partial result including this rank's input; the output excludes the input.
void exscan_recursive_doubling(Builder& b) {
  const Slice partial = Builder::staged(1);
  b.stage(2);
  if (b.rank() + 1 < b.ranks()) b.copy(Builder::input(), partial);
  for (int32_t distance = 1; distance < b.ranks(); distance *= 2) {
    if (b.rank() + distance < b.ranks()) b.send(b.rank() + distance, partial);
    if (b.rank() < distance) continue;
    b.recv(b.rank() - distance, Builder::staged(0));
    if (distance == 1)
      b.copy(Builder::staged(0), Builder::output());
    else
      b.reduce(Builder::staged(0), Builder::output(), Builder::output());
    if (b.rank() + 2 * distance < b.ranks()) b.reduce(Builder::staged(0), partial, partial);
  }
}

}  // namespace tern::coll
