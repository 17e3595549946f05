// SPDX-License-Identifier: Apache-2.0
// Question: facts about a collective call for selection. All ranks must answer alike, so it
// contains only facts known to all ranks.
#pragma once

#include <cstddef>

#include "base/wire.hpp"
#include "coll/schedule/collective.hpp"
#include "coll/schedule/levels.hpp"

namespace tern::coll {

struct Question {
  Collective collective;
  int32_t ranks;
  size_t bytes;  // of the vector or a block; if blocks differ, the mean, or 0 if unknown
  bool commutative = true;
  bool equal_blocks = true;
  const Levels* levels = nullptr;  // null: one host, or unknown
  bool shared = false;             // slots exist (coll/flat)
  bool single_copy = false;        // ranks can read each other's buffers
  bool streams = false;            // enqueued in GPU streams (coll/gpu)
  bool kernels = false;            // kernels are preferred
  Wires wires{};                   // available to the team, for any row
  Wires model_wires{};             // subset of `wires`, used if no rule names a wire
  bool any_order = true;           // any operand order gives the same bits
  bool operator==(const Question&) const = default;
};

}  // namespace tern::coll
