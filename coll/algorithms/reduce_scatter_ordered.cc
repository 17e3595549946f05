// SPDX-License-Identifier: Apache-2.0
// Ordered reduce-scatter: every rank collects a block from all others and combines from the highest
// rank down. The algorithm serves noncommutative operations.
// Definitions: stage slot r holds rank r's block.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

void reduce_scatter_ordered(Builder& b) {
  const int32_t last = b.ranks() - 1;
  const Slice result = Builder::output();
  const auto part = [&](int32_t rank) {
    return rank == b.rank() ? Builder::input(rank) : Builder::staged(rank, b.rank());
  };
  b.stage(b.ranks());
  b.window(kWindow);
  for (int32_t round = 1; round < b.ranks(); ++round) {
    b.recv(b.ring(-round), part(b.ring(-round)));
    b.send(b.ring(round), Builder::input(b.ring(round)));
  }
  b.copy(part(last), result);
  for (int32_t rank = last - 1; rank >= 0; --rank) b.reduce(part(rank), result, result);
}

}  // namespace tern::coll
