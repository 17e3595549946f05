// SPDX-License-Identifier: Apache-2.0
// FlatMethod: how a row of the table uses shared memory (coll/flat).
#pragma once

#include <cstdint>

namespace tern::coll {

// ROW(value, function): `int function(const Operation&, Slots&)` of coll/flat runs a call and
// returns an error class; fail() has the text. Whole: each rank reads all slots. Sliced: each rank
// reduces a slice of the vector, then all ranks read the slices. Direct: slots hold addresses.
// TwoLevel: through a leader of each domain.
#define TERN_FLAT_METHODS(ROW) \
  ROW(kWhole, flat_whole)      \
  ROW(kSliced, flat_sliced)    \
  ROW(kDirect, flat_direct)    \
  ROW(kTwoLevel, flat_two_level)

enum class FlatMethod : uint8_t {
  kNone,  // the row has a schedule
#define TERN_VALUE(value, function) value,
  TERN_FLAT_METHODS(TERN_VALUE)
#undef TERN_VALUE
};

}  // namespace tern::coll
