// SPDX-License-Identifier: Apache-2.0
// Question: facts about a collective call for selection, all known to all ranks.
#pragma once

#include <cstddef>

#include "base/wire.hpp"
#include "coll/schedule/collective.hpp"
#include "coll/schedule/levels.hpp"
#include "coll/schedule/plan.hpp"

namespace tern::coll {

struct Question {
  Collective collective;
  int32_t ranks;
  size_t bytes;  // of the vector or block; the mean if blocks differ, or 0
  bool commutative = true;
  bool equal_blocks = true;
  const Levels* levels = nullptr;  // null: one host, or unknown
  const Plan* plan = nullptr;      // of the communicator, for rows with kPlan
  bool shared = false;
  bool single_copy = false;  // ranks can read each other's buffers
  bool streams = false;      // enqueued in GPU streams
  bool kernels = false;
  Wires wires{};          // available to the team, for any row
  Wires model_wires{};    // used if no rule names a wire
  bool any_order = true;  // operand order does not affect bits
  bool operator==(const Question&) const = default;
};

}  // namespace tern::coll
