// SPDX-License-Identifier: Apache-2.0
// FilePlan: emission.
#include "coll/exchange/file_plan.hpp"

namespace tern::coll {

bool needs_equal_blocks(Collective collective) noexcept {
  return !splits(collective) && collective != Collective::kReduceScatter;
}

void emit_plan(Builder& builder, const FilePlan& plan) {
  builder.split(plan.chunks);
  builder.stage(plan.stage);
  builder.mirrors(plan.mirrors);
  builder.lanes(plan.lanes);
  for (const FileStep& step : plan.steps[static_cast<size_t>(builder.rank())]) {
    builder.lane(step.lane);
    if (step.verb == Verb::kSend) builder.send(step.peer, step.slices[0]);
    if (step.verb == Verb::kRecv) builder.recv(step.peer, step.slices[0]);
    if (step.verb == Verb::kCopy) builder.copy(step.slices[0], step.slices[1]);
    if (step.verb == Verb::kReduce)
      builder.reduce({step.slices.begin(), step.slices.end() - 1}, step.slices.back());
  }
}

std::vector<Schedule> schedules_of(const FilePlan& plan) {
  std::vector<Schedule> made;
  for (int32_t rank = 0; rank < plan.ranks; ++rank) {
    Builder builder(plan.collective, plan.name.c_str(), plan.ranks, rank, 0);
    emit_plan(builder, plan);
    made.push_back(builder.finish());
    made.back().uniform |= needs_equal_blocks(plan.collective);
  }
  return made;
}

}  // namespace tern::coll
