// SPDX-License-Identifier: Apache-2.0
// Slices: what the sliced algorithms share. The ranks of each host cut the vector into as many
// slices as there are; slice j is the work of the j-th rank of every host (a team) between hosts.
// Why: all ranks of a host send to other hosts, where leaders alone would carry everything.
// Needs hosts of one size. See: allreduce_sliced.cc, reduce_sliced.cc, bcast_sliced.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/algorithms/halving.hpp"
#include "coll/schedule/builder.hpp"

namespace tern::coll {

struct SlicePlace {
  std::vector<int32_t> host;  // the ranks of this rank's host, ascending
  std::vector<int32_t> team;  // by host: the rank that stands there where this one stands here
  int32_t mine = 0;           // place in `host`: the number of the slice
  int32_t at = 0;             // place in `team`: the number of the host

  [[nodiscard]] int32_t slices() const noexcept { return static_cast<int32_t>(host.size()); }
  [[nodiscard]] int32_t hosts() const noexcept { return static_cast<int32_t>(team.size()); }
  /// The ranks `distance` further round the host and round the team (negative: back).
  [[nodiscard]] int32_t host_ring(int32_t distance) const noexcept;
  [[nodiscard]] int32_t team_ring(int32_t distance) const noexcept;
  /// The number of the slice so far from the own one.
  [[nodiscard]] int32_t slice(int32_t distance) const noexcept;
};
/// Of this rank. Cost: of order p.
[[nodiscard]] SlicePlace slice_place(const Builder& b);
/// The number of the host of `rank`.
[[nodiscard]] int32_t host_number(const Builder& b, int32_t rank);

/// Each rank of the host ends with its slice of the sum over the host, in the first mirror; the
/// vector is split into `blocks` for each slice. A ring: any order, so commutative only.
[[nodiscard]] Held sum_in_host(Builder& b, const SlicePlace& place, int32_t blocks);

/// Each rank of the host hands its slice of the output to the others; `complete` has all of them
/// already (-1: no rank).
void share_in_host(Builder& b, const SlicePlace& place, int32_t blocks, int32_t complete = -1);

}  // namespace tern::coll
