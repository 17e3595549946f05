// SPDX-License-Identifier: Apache-2.0
// FlatMethod: how a row of the table of algorithms uses shared memory (coll/flat).
#pragma once

#include <cstdint>

namespace tern::coll {

// ROW(value, function): coll/flat has `int function(const Operation&, Slots&)`, which runs one
// call and returns an error class with fail() text.
// Whole: each rank reads all that it needs from everybody. Sliced: a reduction, each rank reduces a
// slice of the vector, then all read the slices. Direct: the slots hold addresses, data is copied
// straight from the other's buffer. TwoLevel: through a leader of each group of ranks, for many.
#define TERN_FLAT_METHODS(ROW) \
  ROW(kWhole, flat_whole)      \
  ROW(kSliced, flat_sliced)    \
  ROW(kDirect, flat_direct)    \
  ROW(kTwoLevel, flat_two_level)

enum class FlatMethod : uint8_t {
  kNone,  // it has a schedule
#define TERN_VALUE(value, function) value,
  TERN_FLAT_METHODS(TERN_VALUE)
#undef TERN_VALUE
};

}  // namespace tern::coll
