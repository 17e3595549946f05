// SPDX-License-Identifier: Apache-2.0
// GraphModel: forests against the other rows on the graph of the job (TERN_TOPOLOGY).
// A row without a plan takes at least a hop, and the bytes over its busiest link along the routes
// of messages. A forest takes its depth in hops, then a time per pass. Forests serve where their
// time is kLeastGain below the bound of every other row, so a wrong estimate costs little.
// Why: the cost model knows hosts, but no links.
// Lifetime: the selector's. Threads: any. Cost: a first call of a collective builds the schedules
// of all ranks; the first call that may gain makes the forest.
// See: tests/unit/coll/graph_model_test.cc.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "coll/algorithms/algorithms.hpp"
#include "coll/forest/forest_plan.hpp"
#include "coll/select/question.hpp"
#include "coll/topology/routes.hpp"

namespace tern::coll {

class GraphModel {
 public:
  static constexpr double kLeastGain = 1.1;
  static constexpr int32_t kMostRanks = 64;

  explicit GraphModel(const Topology& topology);

  struct Verdict {
    const Algorithm* forest = nullptr;  // null: another row serves
    const char* why_not = nullptr;
    const Algorithm* other = nullptr;    // the best other row
    double forest_us = 0, other_us = 0;  // 0: not predicted
    [[nodiscard]] std::string in_words() const;
  };
  /// Equal on all ranks with equal questions. Throws std::bad_alloc.
  [[nodiscard]] Verdict compare(const Question& question);

 private:
  /// The way of a row, per byte of the question.
  struct Busy {
    double us_per_byte = 0;
    int32_t parts = 1, at_once = 1;
  };
  struct ForestFacts {
    Busy busy;
    int32_t depth = 0;
  };
  [[nodiscard]] Busy busiest(const Algorithm& row, const Levels* levels, const Plan* plan);
  [[nodiscard]] const Busy& busy_of(const Algorithm& row, const Levels* levels);
  [[nodiscard]] double bound_of(Collective collective);
  [[nodiscard]] const ForestFacts& facts_of(const Algorithm& row, const Plan& plan);
  [[nodiscard]] double time_of(const Algorithm& row, const ForestFacts& facts, size_t bytes) const;
  void find_best(const Question& question, Verdict* verdict);

  const Topology topology_;
  std::mutex lock_;
  Routes routes_;
  double least_hop_ = 0, most_hop_ = 0;  // us
  std::map<std::pair<const Algorithm*, const Levels*>, Busy> busy_;
  std::map<Collective, double> bounds_;  // us per byte
  std::map<std::pair<const Algorithm*, const Plan*>, ForestFacts> forests_;
};

}  // namespace tern::coll
