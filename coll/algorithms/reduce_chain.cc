// SPDX-License-Identifier: Apache-2.0
// Chain reduction: partial results move chunk by chunk from both ends of the row of ranks to the
// root. Operands stay in rank order.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void reduce_chain(Builder& b) {
  const int32_t rank = b.rank(), last = b.ranks() - 1;
  const Slice left = Builder::staged(0), right = Builder::staged(1);
  b.stage(2);
  const bool from_left = rank > 0 && rank <= b.root();
  const bool from_right = rank < last && rank >= b.root();
  if (from_left) b.recv(rank - 1, left);
  if (from_right) b.recv(rank + 1, right);

  Slice held = Builder::input();
  if (from_right) {
    b.reduce(held, right, right);
    held = right;
  }
  if (from_left && held.space == Space::kInput) {
    b.reduce(left, held, right);
    held = right;
  } else if (from_left) {
    b.reduce(left, held, held);
  }
  if (rank == b.root()) return b.copy(held, Builder::output());
  b.send(rank < b.root() ? rank + 1 : rank - 1, held);
}

}  // namespace tern::coll
