// SPDX-License-Identifier: Apache-2.0
// Two-level allreduce: each host reduces to its lowest rank, the leader; leaders use recursive
// doubling and broadcast the result. Results are bitwise equal.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/halving.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {
namespace {

// gather_up() returns the place of the subtree's sum within the host: the input or the output.
HeldBlocks gather_up(Builder& b, const std::vector<int32_t>& children) {
  HeldBlocks held;
  int32_t slot = 0;
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    const Slice received = Builder::staged(slot++ % 2);
    b.recv(*child, received);
    b.reduce(received, slice_of(b, held), Builder::output());
    held.at = kAtOutput;
  }
  return held;
}

}  // namespace

void allreduce_two_level(Builder& b) {
  const RankPlace place = host_place(b);
  b.stage(2);
  b.mirrors(1);
  HeldBlocks held = gather_up(b, place.children);
  if (place.parent >= 0) {
    b.send(place.parent, slice_of(b, held));
    b.recv(place.parent, Builder::output());
  } else {
    const std::vector<int32_t> leaders = b.levels()->leaders();
    const auto mine = std::find(leaders.begin(), leaders.end(), b.rank()) - leaders.begin();
    const Fold fold{static_cast<int32_t>(leaders.size()), static_cast<int32_t>(mine),
                    leaders.data()};
    double_up(b, fold, held);
    if (held.at != kAtOutput) b.copy(slice_of(b, held), Builder::output());
  }
  for (const int32_t child : place.children) b.send(child, Builder::output());
}

}  // namespace tern::coll
