// SPDX-License-Identifier: Apache-2.0
// Question: what selection may ask about a collective call. Every rank must come to the same
// answer, so only what all ranks know is here.
#pragma once

#include <cstddef>

#include "base/wire.hpp"
#include "coll/schedule/collective.hpp"
#include "coll/schedule/levels.hpp"

namespace tern::coll {

struct Question {
  Collective collective;
  int32_t ranks;
  size_t bytes;  // of the vector, or of one block; where blocks differ their mean, or 0 if ranks do
                 // not know it
  bool commutative = true;
  bool equal_blocks = true;
  const Levels* levels = nullptr;  // null: one host, or nothing is known
  bool shared = false;             // there are slots that all ranks see (coll/flat)
  bool single_copy = false;        // and ranks can read each other's buffers
  bool streams = false;            // it is put into streams of GPUs (coll/gpu)
  bool kernels = false;            // and kernels come first
  Wires wires{};                   // those that the team can take, whatever the row
  Wires model_wires{};             // of these, those that are taken where no line names one
  bool any_order = true;           // of the operands gives the same bits
  bool operator==(const Question&) const = default;
};

}  // namespace tern::coll
