// SPDX-License-Identifier: Apache-2.0
// Sliced reduce: a reduce-scatter in each host gives every rank a slice, slice j goes down a chain
// of the j-th ranks of all hosts to the root's host, and the root gathers.
// Definitions: the host after the root's is the last but one of the chain.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/slices.hpp"

namespace tern::coll {

void reduce_sliced(Builder& b) {
  const SlicePlace place = slice_place(b);
  const int32_t root_at = host_number(b, b.root());
  const int32_t left = (place.at - root_at + place.hosts()) % place.hosts();
  b.split(place.slices());
  b.mirrors(1);
  b.stage(1);
  HeldBlocks held = sum_in_host(b, place, 1);
  if (left + 1 < place.hosts()) {
    const Slice theirs = Builder::staged(0, place.mine);
    b.recv(place.team_ring(1), theirs);
    b.reduce(theirs, slice_of(b, held), slice_at(b, kAtMirror, place.mine, 1));
    held.at = kAtMirror;
  }
  if (left > 0) return b.send(place.team_ring(-1), slice_of(b, held));
  if (b.rank() != b.root()) return b.send(b.root(), slice_of(b, held));
  b.copy(slice_of(b, held), Builder::output(place.mine));
  for (int32_t step = 1; step < place.slices(); ++step)
    b.recv(place.host_ring(-step), Builder::output(place.slice(-step)));
}

}  // namespace tern::coll
