// SPDX-License-Identifier: Apache-2.0
// Model: predicted time of an algorithm on a two-level machine. A message costs latency + bytes /
// bandwidth of the level; reductions and copies cost bytes / speed; chunks overlap. `tern_coll
// tune` fits the model.
#pragma once

#include "coll/algorithms/algorithms.hpp"
#include "coll/select/question.hpp"

namespace tern::coll {

struct LinkCost {
  double latency;     // microseconds
  double per_second;  // megabytes
};

/// Defaults: a two-core machine, and TCP between two local network namespaces. Concurrent senders
/// of a host are assumed not to slow each other.
struct Model {
  LinkCost within{0.7, 6000}, between{10, 3300};
  double reduce = 6000, copy = 9000;  // megabytes per second
  double line = 0.03;                 // microseconds per remote cache line

  /// predict() returns microseconds.
  [[nodiscard]] double predict(const Algorithm& algorithm, const Question& question) const;
};

}  // namespace tern::coll
