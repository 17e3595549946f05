// SPDX-License-Identifier: Apache-2.0
// Pairs: an operation as blocks known only to pairs of ranks: gatherv, scatterv, alltoallv,
// alltoallw, neighbourhoods. Order: both ends list a peer's blocks in equal order, without empty
// blocks. Blocks to the rank itself form pairs too, unless they stay in place (MPI_IN_PLACE).
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

/// Whether blocks are known only to pairs of ranks.
[[nodiscard]] bool goes_by_pairs(const Operation& operation) noexcept;
/// Throws std::bad_alloc; Error (MPI_ERR_TRUNCATE) if the rank's sends to itself differ from its
/// receives.
[[nodiscard]] Pairs pairs_of(const Operation& operation);

}  // namespace tern::coll
