// SPDX-License-Identifier: Apache-2.0
// Recursive doubling allgather: partners at distance 1, 2, 4, ... exchange all held blocks in
// place.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void allgather_recursive_doubling(Builder& b) {
  b.copy(Builder::input(), Builder::output(b.rank()));
  for (int32_t mask = 1; mask < b.ranks(); mask *= 2) {
    const int32_t partner = b.rank() ^ mask;
    b.send(partner, Builder::output(b.rank() / mask * mask, mask));
    b.recv(partner, Builder::output(partner / mask * mask, mask));
  }
}

}  // namespace tern::coll
