// SPDX-License-Identifier: Apache-2.0
// Linear neighbourhood exchange: a message per edge within a window; edges to the rank itself are
// copied. All ranks order edges alike, by distance, then by sender: windows of any size cannot
// deadlock. If all edges fit the window, receives start first, to avoid unexpected messages. A grid
// has a lane per direction, to separate the two edges between the same ranks.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {
namespace {

struct End {
  int32_t distance, sender, place, peer;
  bool sends;
};

std::vector<End> ends_of(const Builder& b, int32_t lane) {
  const Neighbors& near = b.neighbors();
  std::vector<End> ends;
  const auto add = [&](const std::vector<int32_t>& peers, bool sends) {
    for (int32_t i = 0; i < static_cast<int32_t>(peers.size()); ++i) {
      const int32_t peer = peers[static_cast<size_t>(i)];
      const int32_t direction = near.grid ? (i & 1) ^ (sends ? 0 : 1) : 0;
      if (peer == kNoRank || direction != lane) continue;
      const int32_t from = sends ? b.rank() : peer, to = sends ? peer : b.rank();
      ends.push_back({b.wrap(to - from), from, i, peer, sends});
    }
  };
  add(near.sources, false);
  add(near.destinations, true);
  std::stable_sort(ends.begin(), ends.end(), [](const End& a, const End& c) {
    return a.distance != c.distance ? a.distance < c.distance : a.sender < c.sender;
  });
  if (ends.size() <= kWindow)
    std::stable_partition(ends.begin(), ends.end(), [](const End& end) { return !end.sends; });
  return ends;
}

void exchange_with_neighbors(Builder& b, bool same_for_all) {
  const auto input = [&](int32_t place) { return Builder::input(same_for_all ? 0 : place); };
  const int lanes = b.neighbors().grid ? 2 : 1;
  b.lanes(lanes);
  b.window(kWindow);
  for (int lane = 0; lane < lanes; ++lane) {
    b.lane(lane);
    std::vector<int32_t> to_self, from_self;
    for (const End& end : ends_of(b, lane)) {
      if (end.peer == b.rank())
        (end.sends ? to_self : from_self).push_back(end.place);
      else if (end.sends)
        b.send(end.peer, input(end.place));
      else
        b.recv(end.peer, Builder::output(end.place));
    }
    for (size_t i = 0; i < std::min(to_self.size(), from_self.size()); ++i)
      b.copy(input(to_self[i]), Builder::output(from_self[i]));
  }
}

}  // namespace

void neighbor_allgather_linear(Builder& b) { exchange_with_neighbors(b, true); }

void neighbor_alltoall_linear(Builder& b) { exchange_with_neighbors(b, false); }

}  // namespace tern::coll
