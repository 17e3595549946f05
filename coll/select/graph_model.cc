// SPDX-License-Identifier: Apache-2.0
// GraphModel: bytes per link.
#include "coll/select/graph_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "coll/forest/bound.hpp"
#include "coll/select/rules.hpp"

namespace tern::coll {
namespace {

constexpr double kPerKilobyte = 1000;  // us per byte, of a time in 1 / (kB/s)
constexpr int32_t kAssumedHops = 2;    // of a forest that is not made yet

const char* why_no_question(const Question& question, const Algorithm& row) noexcept {
  if (question.shared) return "the ranks share memory";
  if ((row.limits & kCommutative) != 0 && !question.commutative)
    return "the operation is not commutative";
  if (reduces(question.collective) && !question.any_order)
    return "another order of operands would change the result's bits, and the communicator lacks "
           "the hint tern_any_order";
  if (question.ranks > GraphModel::kMostRanks)
    return "more than 64 GPUs; TERN_COLL may still name the row";
  return nullptr;
}

}  // namespace

std::string GraphModel::Verdict::in_words() const {
  if (other == nullptr) return why_not == nullptr ? "" : strf("no forest: %s", why_not);
  const std::string others = strf("other rows at least %.1f us (%s)", other_us, other->name);
  if (forest != nullptr) return strf("on the graph %.1f us, %s", forest_us, others.c_str());
  return strf("no forest: %s: %.1f us, %s", why_not, forest_us, others.c_str());
}

GraphModel::GraphModel(const Topology& topology) : topology_(topology), routes_(topology_) {
  least_hop_ = std::numeric_limits<double>::infinity();
  for (const Topology::Link& link : topology_.links) {
    least_hop_ = std::min(least_hop_, link.latency);
    most_hop_ = std::max(most_hop_, link.latency);
  }
}

GraphModel::Busy GraphModel::busiest(const Algorithm& row, const Levels* levels, const Plan* plan) {
  std::vector<double> blocks(topology_.links.size(), 0);
  Busy busy;
  const int32_t ranks = topology_.ranks();
  for (int32_t rank = 0; rank < ranks; ++rank) {
    const Schedule schedule = build(row, ranks, rank, 0, levels, plan);
    busy.parts = schedule.parts;
    busy.at_once = schedule.at_once;
    for (const Step& step : schedule.steps) {
      if (step.verb != Verb::kSend) continue;
      const double share = static_cast<double>(schedule.source(step).blocks) / schedule.parts;
      for (const int32_t link : routes_.between(rank, step.peer).links)
        blocks[static_cast<size_t>(link)] += share;
    }
  }
  for (size_t link = 0; link < blocks.size(); ++link)
    busy.us_per_byte =
        std::max(busy.us_per_byte,
                 blocks[link] * kPerKilobyte / static_cast<double>(topology_.links[link].capacity));
  return busy;
}

const GraphModel::Busy& GraphModel::busy_of(const Algorithm& row, const Levels* levels) {
  if ((row.limits & kLevels) == 0) levels = nullptr;
  const std::pair key{&row, levels};
  const auto found = busy_.find(key);
  if (found != busy_.end()) return found->second;
  return busy_.emplace(key, busiest(row, levels, nullptr)).first->second;
}

double GraphModel::bound_of(Collective collective) {
  if (collective == Collective::kAllreduce)
    return (bound_of(Collective::kReduceScatter) + bound_of(Collective::kAllgather)) /
           topology_.ranks();
  const auto found = bounds_.find(collective);
  if (found != bounds_.end()) return found->second;
  double bound = 0;  // 0: unknown
  try {
    forest::Graph graph = forest::graph_of(topology_);
    if (forest::turned(collective)) graph = graph.turned();
    const forest::Bound made =
        forest::bound_of(graph, forest::root_weights(collective, graph.gpus, 0));
    bound = static_cast<double>(made.units) /
            (static_cast<double>(made.capacity) * static_cast<double>(graph.unit)) * kPerKilobyte;
  } catch (const Error&) {  // the forest's own error is reported
  }
  return bounds_[collective] = bound;
}

const GraphModel::ForestFacts& GraphModel::facts_of(const Algorithm& row, const Plan& plan) {
  const std::pair key{&row, &plan};
  const auto found = forests_.find(key);
  if (found != forests_.end()) return found->second;
  ForestFacts made{busiest(row, nullptr, &plan), 0};
  for (const forest::Forest& one :
       static_cast<const forest::ForestPlan&>(plan).forests(row.collective, 0))
    made.depth += forest::depth_of(one);
  return forests_.emplace(key, made).first->second;
}

// A pass leaves a level when it has gone on; at_once passes fill the way.
double GraphModel::time_of(const Algorithm& row, const ForestFacts& facts, size_t bytes) const {
  const auto n = static_cast<double>(bytes);
  const double passes =
      std::max(1.0, std::ceil(n / (static_cast<double>(row.chunk) * facts.busy.parts)));
  const double pass = n / passes * facts.busy.us_per_byte;
  const double way = facts.depth * (most_hop_ + pass);
  return way + (passes - 1) * std::max(pass, way / facts.busy.at_once);
}

void GraphModel::find_best(const Question& question, Verdict* verdict) {
  verdict->other_us = std::numeric_limits<double>::infinity();
  for (const Algorithm& row : algorithms(question.collective)) {
    if (!has_schedule(row) || needs_plan(row) || !can(row, question)) continue;
    const double time = least_hop_ + static_cast<double>(question.bytes) *
                                         busy_of(row, question.levels).us_per_byte;
    if (time >= verdict->other_us) continue;
    verdict->other = &row;
    verdict->other_us = time;
  }
}

GraphModel::Verdict GraphModel::compare(const Question& question) {
  Verdict verdict;
  const Algorithm* const row = find_algorithm(question.collective, "forest");
  if (row == nullptr || question.ranks != topology_.ranks() || question.ranks < 2) return verdict;
  verdict.why_not = why_no_question(question, *row);
  if (verdict.why_not != nullptr) return verdict;
  const std::scoped_lock held(lock_);
  find_best(question, &verdict);
  verdict.forest_us = kAssumedHops * least_hop_ +
                      static_cast<double>(question.bytes) * bound_of(question.collective);
  verdict.why_not = "no gain at the bound of the graph";
  if (verdict.other_us < kLeastGain * verdict.forest_us) return verdict;
  verdict.why_not = "no trees along the routes of this graph";
  if (!can(*row, question)) return verdict;
  verdict.forest_us = time_of(*row, facts_of(*row, *question.plan), question.bytes);
  verdict.why_not = "no gain";
  if (verdict.other_us < kLeastGain * verdict.forest_us) return verdict;
  verdict.forest = row;
  verdict.why_not = nullptr;
  return verdict;
}

}  // namespace tern::coll
