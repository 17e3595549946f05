// SPDX-License-Identifier: Apache-2.0
// Sliced algorithms: phases within a host.
#include "coll/algorithms/slices.hpp"

#include <algorithm>
#include <numeric>

namespace tern::coll {
namespace {

int32_t round_ring(int32_t number, int32_t size) noexcept { return (number % size + size) % size; }

}  // namespace

int32_t SlicePlace::slice(int32_t distance) const noexcept {
  return round_ring(mine + distance, slices());
}

int32_t SlicePlace::member(int32_t host, int32_t slice) const noexcept {
  const int32_t row = round_ring(host, hosts()), column = round_ring(slice, size);
  return grid[static_cast<size_t>(row * size + column)];
}

int32_t host_number(const Builder& b, int32_t rank) {
  const std::vector<int32_t> leaders = b.levels()->leaders();
  const int32_t leader = b.levels()->groups[0][static_cast<size_t>(rank)];
  return static_cast<int32_t>(std::lower_bound(leaders.begin(), leaders.end(), leader) -
                              leaders.begin());
}

SlicePlace slice_place(const Builder& b) {
  SlicePlace place;
  const std::vector<int32_t>& leader = b.levels()->groups[0];
  place.at = host_number(b, b.rank());
  place.grid.resize(leader.size());
  std::iota(place.grid.begin(), place.grid.end(), 0);
  std::stable_sort(place.grid.begin(), place.grid.end(), [&](int32_t one, int32_t two) {
    return leader[static_cast<size_t>(one)] < leader[static_cast<size_t>(two)];
  });
  place.size = static_cast<int32_t>(std::count(leader.begin(), leader.end(), leader[0]));
  const auto row = place.grid.begin() + place.at * place.size;
  place.mine = static_cast<int32_t>(std::find(row, row + place.size, b.rank()) - row);
  for (int32_t host = 0; host * place.size < b.ranks(); ++host)
    place.team.push_back(place.grid[static_cast<size_t>(host * place.size + place.mine)]);
  return place;
}

// In round k a rank forwards slice k + 1 before the own slice, and adds the input to the previous
// slice for the next round.
HeldBlocks sum_in_host(Builder& b, const SlicePlace& place, int32_t blocks) {
  const auto slice = [&](PartialBuffer where, int32_t distance) {
    return slice_at(b, where, place.slice(distance) * blocks, blocks);
  };
  for (int32_t round = 0; round + 1 < place.slices(); ++round) {
    const Slice received = slice(kAtMirror, -round - 2);
    b.send(place.host_ring(1), slice(round == 0 ? kAtInput : kAtMirror, -round - 1));
    b.recv(place.host_ring(-1), received);
    b.reduce(slice(kAtInput, -round - 2), received, received);
  }
  return {.at = place.slices() == 1 ? kAtInput : kAtMirror,
          .low = place.mine * blocks,
          .blocks = blocks};
}

void share_in_host(Builder& b, const SlicePlace& place, int32_t blocks, int32_t complete) {
  for (int32_t step = 1; step < place.slices(); ++step) {
    const int32_t to = place.host_ring(step), from = place.host_ring(-step);
    if (to != complete) b.send(to, Builder::output(place.mine * blocks, blocks));
    if (b.rank() != complete) b.recv(from, Builder::output(place.slice(-step) * blocks, blocks));
  }
}

}  // namespace tern::coll
