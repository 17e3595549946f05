// SPDX-License-Identifier: Apache-2.0
// make_forest: the trees of a collective on a topology, certified.
// k: the smallest of 1 .. 16 within 3 % of the bound, else the best.
// Cost: 10 ms for 8 GPUs, under 5 s for 64 (tests/unit/coll/forest_test).
#pragma once

#include <string>

#include "coll/forest/bound.hpp"
#include "coll/forest/certify.hpp"

namespace tern::coll::forest {

inline constexpr int32_t kMostTrees = 16;
inline constexpr double kEnoughShare = 0.97;

/// Throws tern::Error if links do not connect all GPUs, or no forest exists along the routes.
[[nodiscard]] Forest make_forest(const Topology& topology, Collective collective, int32_t root);
/// A forest of one tree, in which all GPUs exchange messages with the root: for roots that have no
/// other. Throws tern::Error if links do not connect all GPUs.
[[nodiscard]] Forest make_star(const Topology& topology, Collective rooted, int32_t root);

}  // namespace tern::coll::forest
