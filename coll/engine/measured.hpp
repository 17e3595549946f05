// SPDX-License-Identifier: Apache-2.0
// Measured: what TERN_EXPLAIN says of an algorithm at the end: predicted and measured time.
#pragma once

#include <cstdint>

namespace tern::coll {

/// How often an algorithm served a size (a power of two), and how long it took.
struct Measured {
  int64_t count = 0, nanoseconds = 0;
  double predicted = 0;  // microseconds, in sum
};

}  // namespace tern::coll
