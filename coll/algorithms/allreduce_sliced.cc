// SPDX-License-Identifier: Apache-2.0
// Sliced allreduce: a reduce-scatter in each host gives every rank a slice, the j-th ranks of all
// hosts allreduce slice j, and each host allgathers. Results are bitwise equal.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/slices.hpp"

namespace tern::coll {
namespace {

// ring_between() leaves the result in the output.
void ring_between(Builder& b, const SlicePlace& place, const HeldBlocks& held) {
  const int32_t hosts = place.hosts();
  const PartialBuffer sums = held.at == kAtMirror ? kAtOutput : kAtMirror;
  const auto block = [&](PartialBuffer where, int32_t distance) {
    const int32_t number = ((place.at + distance) % hosts + hosts) % hosts;
    return slice_at(b, where, held.low + number, 1);
  };
  for (int32_t round = 0; round + 1 < hosts; ++round) {
    b.send(place.team_ring(1), block(round == 0 ? held.at : sums, -round - 1));
    b.recv(place.team_ring(-1), block(sums, -round - 2));
    b.reduce(block(held.at, -round - 2), block(sums, -round - 2), block(sums, -round - 2));
  }
  if (sums != kAtOutput) b.copy(block(sums, 0), block(kAtOutput, 0));
  for (int32_t round = 0; round + 1 < hosts; ++round) {
    b.send(place.team_ring(1), block(kAtOutput, -round));
    b.recv(place.team_ring(-1), block(kAtOutput, -round - 1));
  }
}

void between(Builder& b, const SlicePlace& place, HeldBlocks held) {
  const Fold fold{place.hosts(), place.at, place.team.data()};
  if (fold.extra() != 0) return ring_between(b, place, held);
  if (place.hosts() == 2)
    double_up(b, fold, held);
  else
    halve(b, fold, held);
  if (held.at != kAtOutput) b.copy(slice_of(b, held), Builder::output(held.low, held.blocks));
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
