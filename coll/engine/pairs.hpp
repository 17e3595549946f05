// SPDX-License-Identifier: Apache-2.0
// Pairs: an operation as blocks between pairs of ranks, each of which only the two need know:
// gatherv, scatterv, alltoallv, alltoallw and the collectives of neighbourhoods.
// Order: the blocks of one peer stand in an order to which both ends come by themselves; empty ones
// are left out, at both ends. What a rank sends itself goes by a pair, too, but for what stays in
// its place (MPI_IN_PLACE).
#pragma once

#include <vector>

#include "coll/engine/operation.hpp"
#include "core/device_copy.hpp"

namespace tern::coll {

struct PairBlock {
  core::Data data;
  int32_t peer;
};
struct Pairs {
  std::vector<PairBlock> sent, received;
};

/// Whether an operation is one whose blocks not every rank knows.
[[nodiscard]] bool goes_by_pairs(const Operation& operation) noexcept;
/// Throws std::bad_alloc; Error (MPI_ERR_TRUNCATE) where the rank sends itself other blocks than it
/// receives from itself.
[[nodiscard]] Pairs pairs_of(const Operation& operation);

}  // namespace tern::coll
