// SPDX-License-Identifier: Apache-2.0
// Bruck's allgather: held blocks double every round, and are rotated into rank order at the end.
// Definitions: stage slot i holds the block of the i-th rank after this rank.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void allgather_bruck(Builder& b) {
  const int32_t ranks = b.ranks();
  b.stage(ranks);
  b.copy(Builder::input(), Builder::staged(0));
  for (int32_t held = 1; held < ranks; held *= 2) {
    const int32_t more = held < ranks - held ? held : ranks - held;
    b.send(b.ring(-held), Builder::staged(0, 0, more));
    b.recv(b.ring(held), Builder::staged(held, 0, more));
  }
  const int32_t before_wrap = ranks - b.rank();
  b.copy(Builder::staged(0, 0, before_wrap), Builder::output(b.rank(), before_wrap));
  if (b.rank() > 0) b.copy(Builder::staged(before_wrap, 0, b.rank()), Builder::output(0, b.rank()));
}

}  // namespace tern::coll
