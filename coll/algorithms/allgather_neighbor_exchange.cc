// SPDX-License-Identifier: Apache-2.0
// Neighbour exchange allgather: pairs swap their blocks, then each rank turns to the neighbours on
// its two sides in turn and hands over the two blocks that it got last. Half the rounds of the
// ring, and only neighbours talk. Cost: p / 2 rounds, n (p - 1) / p bytes. Even numbers of ranks
// only. See: Chen, Wang et al. 2005.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {
namespace {

// Even ranks have the neighbours +1, -1, +1, ...; odd ones -1, +1, ...
int32_t neighbor(const Builder& b, int32_t rank, int32_t round) {
  return b.wrap(rank + ((rank + round) % 2 == 0 ? 1 : -1));
}

// The first block of the pair that `rank` got last before round `round` (round 1: its own pair):
// what the neighbour of the round before had got in the one before that, and so on, in one
// direction.
int32_t last_pair(const Builder& b, int32_t rank, int32_t round) {
  const int32_t way = (rank + round - 1) % 2 == 0 ? 1 : -1;
  return b.wrap(rank + way * (round - 1)) / 2 * 2;
}

}  // namespace

void allgather_neighbor_exchange(Builder& b) {
  b.copy(Builder::input(), Builder::output(b.rank()));
  const int32_t mate = neighbor(b, b.rank(), 0);
  b.send(mate, Builder::output(b.rank()));
  b.recv(mate, Builder::output(mate));
  for (int32_t round = 1; round < b.ranks() / 2; ++round) {
    const int32_t with = neighbor(b, b.rank(), round);
    b.send(with, Builder::output(last_pair(b, b.rank(), round), 2));
    b.recv(with, Builder::output(last_pair(b, with, round), 2));
  }
}

}  // namespace tern::coll
