// SPDX-License-Identifier: Apache-2.0
// Rows with a schedule and rows without (coll/flat), except neighborhoods and rows with plans.
#pragma once

#include <cstdlib>
#include <vector>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

/// --full sets TEST_LONG for wider sweeps.
inline bool long_tests() { return std::getenv("TEST_LONG") != nullptr; }

inline std::vector<Algorithm> rows(bool with_schedule) {
  std::vector<Algorithm> found;
  for (const Algorithm& row : global_algorithms())
    if (has_schedule(row) == with_schedule && (row.limits & kPlan) == 0) found.push_back(row);
  return found;
}

}  // namespace tern::coll
