// SPDX-License-Identifier: Apache-2.0
// Sliced allgather: the j-th ranks of all hosts form a ring between hosts. Each rank sends the
// blocks of the ring on to the ranks of the same host. All network cards work.
// Cost: q - 1 rounds between hosts, with n / p bytes each; n (g - 1) / g bytes within a host.
// Definitions: lane 0 goes between hosts, lane 1 within; q hosts of g ranks.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/slices.hpp"

namespace tern::coll {
namespace {

// The blocks of the host `distance` before.
void share_block(Builder& b, const SlicePlace& place, int32_t distance, const Slice& own) {
  const int32_t ranks = place.slices();
  for (int32_t step = 1; step < ranks; ++step) {
    const int32_t block = place.member(place.at - distance, place.mine - step);
    b.recv(place.host_ring(-step), Builder::output(block));
    b.send(place.host_ring(step), own);
  }
}

}  // namespace

void allgather_sliced(Builder& b) {
  const SlicePlace place = slice_place(b);
  b.lanes(2);
  b.at_once(8);
  for (int32_t round = 0; round < place.hosts(); ++round) {
    const Slice own = round == 0 ? Builder::input() : Builder::output(place.team_ring(-round));
    b.lane(0);
    if (round + 1 < place.hosts()) {
      b.recv(place.team_ring(-1), Builder::output(place.team_ring(-round - 1)));
      b.send(place.team_ring(1), own);
    }
    b.lane(1);
    share_block(b, place, round, own);
  }
  b.copy(Builder::input(), Builder::output(b.rank()));
}

}  // namespace tern::coll
