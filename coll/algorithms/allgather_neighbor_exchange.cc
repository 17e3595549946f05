// SPDX-License-Identifier: Apache-2.0
// Neighbour exchange allgather: pairs swap blocks, then each rank alternates between two neighbours
// and forwards the two blocks received last.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {
namespace {

// Even ranks alternate +1, -1, ...; odd ranks -1, +1, ...
int32_t neighbor(const Builder& b, int32_t rank, int32_t round) {
  return b.wrap(rank + ((rank + round) % 2 == 0 ? 1 : -1));
}

// last_pair() is the first block of the pair received by `rank` before round `round` (round 1: the
// rank's own). Pairs travel a rank per round.
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
