// SPDX-License-Identifier: Apache-2.0
// Pairs: an operation as blocks known only to pairs of ranks: gatherv, scatterv, alltoallv,
// alltoallw, neighbourhoods. Sender and receiver list a pair's nonempty blocks in equal order.
// Blocks to the rank itself form pairs too, unless in place.
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

[[nodiscard]] bool goes_by_pairs(const Operation& operation) noexcept;
/// pairs_of() throws std::bad_alloc, or Error (MPI_ERR_TRUNCATE) if blocks to the rank itself
/// differ in size.
[[nodiscard]] Pairs pairs_of(const Operation& operation);

}  // namespace tern::coll
