// SPDX-License-Identifier: Apache-2.0
// Model: how long an algorithm should take on a machine of two levels.
// Why: it ranks the algorithms where nothing was measured, and a prediction beside the measured
// time tells whether something is wrong. A message costs latency + bytes / bandwidth of its level;
// reductions and copies their bytes at their speed; chunks overlap (Algorithm::cost says what the
// busiest rank does). Threads: any. See: tern_coll tune (fits it), tests/unit/coll/select_test.cc.
#pragma once

#include "coll/algorithms/algorithms.hpp"
#include "coll/select/question.hpp"

namespace tern::coll {

struct Link {
  double latency;     // microseconds of one message
  double per_second;  // megabytes
};

/// The defaults are those of a machine of two cores that share memory, and of TCP between two hosts
/// that are namespaces of it. Ranks of a host that send at once are taken not to slow each other.
struct Model {
  Link within{0.7, 6000}, between{10, 3300};
  double reduce = 6000, copy = 9000;  // megabytes per second
  double line = 0.03;  // microseconds of one of many cache lines of others: loads overlap

  /// Microseconds.
  [[nodiscard]] double predict(const Algorithm& algorithm, const Question& question) const;
};

}  // namespace tern::coll
