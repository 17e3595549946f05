// SPDX-License-Identifier: Apache-2.0
// Sliced broadcast: the root scatters slices in its host, slice j goes down a chain of the j-th
// ranks of all hosts from the root's host on, and each host allgathers.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/slices.hpp"

namespace tern::coll {

void bcast_sliced(Builder& b) {
  const SlicePlace place = slice_place(b);
  const int32_t root_at = host_number(b, b.root());
  const int32_t gone = (place.at - root_at + place.hosts()) % place.hosts();
  b.split(place.slices());
  if (gone > 0)
    b.recv(place.team_ring(-1), Builder::output(place.mine));
  else if (b.rank() != b.root())
    b.recv(b.root(), Builder::output(place.mine));
  if (gone + 1 < place.hosts()) b.send(place.team_ring(1), Builder::output(place.mine));
  if (b.rank() == b.root())
    for (int32_t step = 1; step < place.slices(); ++step)
      b.send(place.host_ring(step), Builder::output(place.slice(step)));
  share_in_host(b, place, 1, gone == 0 ? b.root() : -1);
}

}  // namespace tern::coll
