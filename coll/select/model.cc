// SPDX-License-Identifier: Apache-2.0
// The cost model.
#include "coll/select/model.hpp"

#include <algorithm>
#include <cmath>

namespace tern::coll {
namespace {

/// kTypicalBlock stands for unknown block sizes.
constexpr double kTypicalBlock = 4096;

Shape shape_of(const Question& question) {
  const double p = question.ranks;
  const double bytes = question.equal_blocks ? static_cast<double>(question.bytes) : kTypicalBlock;
  const double hosts =
      question.levels == nullptr ? 1 : static_cast<double>(question.levels->leaders().size());
  return {p, splits(question.collective) ? bytes : bytes * p, hosts, question.plan};
}

double passes_of(const Algorithm& algorithm, const Work& work, double n) {
  if (algorithm.chunk == 0) return 1;
  return std::max(1.0, std::ceil(n / (static_cast<double>(algorithm.chunk) * work.parts)));
}

double time_of(const Work& work, const LinkCost& link, const Model& model, double passes) {
  // A byte per microsecond is a megabyte per second. Starting a message takes half the latency.
  const double first = work.rounds * link.latency + work.bytes / passes / link.per_second;
  const double next = work.messages * link.latency / 2 + work.load / passes / link.per_second;
  return first + (passes - 1) * next + work.reduced / model.reduce + work.copied / model.copy +
         work.lines * model.line;
}

}  // namespace

double Model::predict(const Algorithm& algorithm, const Question& question) const {
  const Shape shape = shape_of(question);
  const Cost cost = algorithm.cost(shape);
  const double passes = passes_of(algorithm, cost.far, shape.n);
  const bool knows_levels = (algorithm.limits & kLevels) != 0;
  const LinkCost& far = question.levels != nullptr || knows_levels ? between : within;
  return time_of(cost.far, far, *this, passes) + time_of(cost.near, within, *this, passes);
}

}  // namespace tern::coll
