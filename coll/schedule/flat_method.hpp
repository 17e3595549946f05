// SPDX-License-Identifier: Apache-2.0
// FlatMethod: how a row of the table of algorithms uses shared memory (coll/flat).
#pragma once

#include <cstdint>

namespace tern::coll {

enum class FlatMethod : uint8_t {
  kNone,    // it has a schedule
  kWhole,   // each rank reads all that it needs from everybody
  kSliced,  // a reduction: each rank reduces a slice of the vector, then all read the slices
  kDirect,  // the slots hold addresses: data is copied straight from the other's buffer
};

}  // namespace tern::coll
