// SPDX-License-Identifier: Apache-2.0
// An allgather in which all send everything to all.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void allgather_dummy(Builder& b) {
  b.copy(Builder::input(), Builder::output(b.rank()));
  b.window(kWindow);
  for (int32_t i = 1; i < b.ranks(); ++i) {
    b.recv((b.rank() - i + b.ranks()) % b.ranks(),
           Builder::output((b.rank() - i + b.ranks()) % b.ranks()));
    b.send((b.rank() + i) % b.ranks(), Builder::input());
  }
}

}  // namespace tern::coll
