// SPDX-License-Identifier: Apache-2.0
// Sliced allreduce: a reduce-scatter in each host gives every rank a slice, the j-th ranks of all
// hosts allreduce slice j, and each host allgathers. Results are bitwise equal.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/slices.hpp"

namespace tern::coll {
namespace {

void between(Builder& b, const SlicePlace& place, HeldBlocks held) {
  const Fold fold{place.hosts(), place.at, place.team.data()};
  const int32_t low = held.low;
  const bool in_ring = fold.extra() != 0;
  if (in_ring)
    held = sum_in_ring(b, place.team, place.at, held);
  else if (place.hosts() == 2)
    double_up(b, fold, held);
  else
    halve(b, fold, held);
  if (held.at != kAtOutput) b.copy(slice_of(b, held), Builder::output(held.low, held.blocks));
  if (in_ring) return share_in_ring(b, place.team, place.at, low, held.blocks);
  if (place.hosts() != 2) double_back(b, fold, held);
}

}  // namespace

void allreduce_sliced(Builder& b) {
  const SlicePlace place = slice_place(b);
  const int32_t blocks = place.hosts() == 2 ? 1 : place.hosts();
  b.split(place.slices() * blocks);
  b.mirrors(1);
  between(b, place, sum_in_host(b, place, blocks));
  share_in_host(b, place, blocks);
}

}  // namespace tern::coll
