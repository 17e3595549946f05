// SPDX-License-Identifier: Apache-2.0
// Slices: common parts of sliced algorithms. The ranks of each host split the vector into a slice
// each; the j-th ranks of all hosts, a team, process slice j between hosts. So all ranks send to
// other hosts, not leaders alone. Sliced algorithms need hosts of equal size.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/algorithms/halving.hpp"
#include "coll/schedule/builder.hpp"

namespace tern::coll {

struct SlicePlace {
  std::vector<int32_t> grid;  // all ranks by host, hosts by leader
  std::vector<int32_t> team;  // counterparts, by host
  int32_t size = 1;           // ranks of a host
  int32_t mine = 0;           // index in the host: the slice number
  int32_t at = 0;             // index in `team`: the host number

  [[nodiscard]] int32_t slices() const noexcept { return size; }
  [[nodiscard]] int32_t hosts() const noexcept { return static_cast<int32_t>(team.size()); }
  /// member() is the rank at a place of a host; both count round.
  [[nodiscard]] int32_t member(int32_t host, int32_t slice) const noexcept;
  [[nodiscard]] int32_t host_ring(int32_t distance) const noexcept {
    return member(at, mine + distance);
  }
  [[nodiscard]] int32_t team_ring(int32_t distance) const noexcept {
    return member(at + distance, mine);
  }
  [[nodiscard]] int32_t slice(int32_t distance) const noexcept;
};
[[nodiscard]] SlicePlace slice_place(const Builder& b);
[[nodiscard]] int32_t host_number(const Builder& b, int32_t rank);

/// sum_in_host() leaves each rank its slice of the host's sum, in the first mirror, as `blocks`
/// blocks.
[[nodiscard]] HeldBlocks sum_in_host(Builder& b, const SlicePlace& place, int32_t blocks);

/// In share_in_host() each rank sends its slice of the output to the host's ranks, except to
/// `complete` (-1: none), which has all slices.
void share_in_host(Builder& b, const SlicePlace& place, int32_t blocks, int32_t complete = -1);

}  // namespace tern::coll
