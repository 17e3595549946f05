// SPDX-License-Identifier: Apache-2.0
// Model: predicted time of an algorithm on a two-level machine. Why: ranks algorithms without
// measurements, and exposes anomalies beside measured times. A message costs latency + bytes /
// bandwidth of its level; reductions and copies cost bytes / speed; chunks overlap
// (Algorithm::cost: the busiest rank's work). See: tern_coll tune (fits the model),
// tests/unit/coll/select_test.cc.
// busiest rank does). Threads: any. See: tern_coll tune (fits it), tests/unit/coll/select_test.cc.
#pragma once

#include "coll/algorithms/algorithms.hpp"
#include "coll/select/question.hpp"

namespace tern::coll {

struct Link {
  double latency;     // microseconds per message
  double per_second;  // megabytes
};

/// Defaults: a two-core machine with shared memory, and TCP between two of its network namespaces.
/// Concurrent senders of a host are assumed not to slow each other.
struct Model {
  Link within{0.7, 6000}, between{10, 3300};
  double reduce = 6000, copy = 9000;  // megabytes per second
  double line = 0.03;                 // microseconds per remote cache line; loads overlap

  /// Microseconds.
  [[nodiscard]] double predict(const Algorithm& algorithm, const Question& question) const;
};

}  // namespace tern::coll
