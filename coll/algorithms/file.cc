// SPDX-License-Identifier: Apache-2.0
// The steps of a file (coll/exchange).
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/file_plan.hpp"

namespace tern::coll {

void follow_file(Builder& b) {
  const auto& plan = static_cast<const FilePlan&>(*b.plan());
  b.split(plan.parts);
  b.stage(plan.stage);
  b.mirrors(plan.mirrors);
  b.lanes(plan.lanes);
  for (const FileStep& step : plan.steps[static_cast<size_t>(b.rank())]) {
    const std::vector<Slice>& slices = step.slices;
    b.lane(step.lane);
    if (step.verb == Verb::kSend) b.send(step.peer, slices[0]);
    if (step.verb == Verb::kRecv) b.recv(step.peer, slices[0]);
    if (step.verb == Verb::kCopy) b.copy(slices[0], slices[1]);
    if (step.verb == Verb::kReduce) b.reduce({slices.begin(), slices.end() - 1}, slices.back());
  }
}

}  // namespace tern::coll
