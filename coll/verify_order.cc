// SPDX-License-Identifier: Apache-2.0
// Order within a rank: what is known to be complete when a step starts, and who touches what.
#include "coll/verify_run.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace tern::coll {

// known[step][lane]: what the dependencies of a step, and theirs, guarantee to be complete when
// it starts.
void SymbolicRun::learn(RankState& state, int l, int32_t index, const Step& step) {
  LaneState& lane = state.lanes[static_cast<size_t>(l)];
  std::vector<int32_t> known(state.lanes.size(), 0);
  const auto join = [&](const std::vector<int32_t>& more) {
    for (size_t i = 0; i < known.size(); ++i) known[i] = std::max(known[i], more[i]);
  };
  if (index > 0) join(lane.known[static_cast<size_t>(index - 1)]);
  if (step.wait_steps > 0) {
    const LaneState& other = state.lanes[step.wait_lane];
    join(other.known[static_cast<size_t>(step.wait_steps - 1)]);
    known[step.wait_lane] = std::max(known[step.wait_lane], step.wait_steps);
  }
  known[static_cast<size_t>(l)] = std::max(known[static_cast<size_t>(l)], step.after);
  lane.known.push_back(std::move(known));
}

void SymbolicRun::touch(RankState& state, int l, int32_t index, const Step& step) {
  for (int i = 0; i < step.sources; ++i)
    touch_slice(state, l, index, state.schedule->source(step, i), false);
  for (int i = 0; i < step.destinations; ++i)
    touch_slice(state, l, index, state.schedule->destination(step, i), true);
}

void SymbolicRun::touch_slice(RankState& state, int l, int32_t index, const Slice& slice,
                              bool writes) {
  if (!usable(state, l, index, slice, writes)) return;
  const auto& known = state.lanes[static_cast<size_t>(l)].known[static_cast<size_t>(index)];
  for (int32_t i = 0; i < slice.blocks; ++i) {
    const auto [space, block] = where(*state.schedule, slice, i);
    auto& accesses = state.accesses[space][block];
    for (const Access& before : accesses) {
      const bool same_step = before.lane == l && before.step == index;
      if (same_step || (!before.writes && !writes)) continue;
      if (known[static_cast<size_t>(before.lane)] > before.step) continue;
      blame(state, l, index,
            strf("touches block %d of %s while lane %d, step %d may still do so",
                 static_cast<int>(block), space_name(space), before.lane, before.step));
      return;
    }
    accesses.push_back({l, index, writes});
  }
}

const char* SymbolicRun::space_name(int space) {
  static constexpr const char* kNames[] = {"the input", "the output", "a mirror", "the stage"};
  return kNames[space];
}

bool SymbolicRun::usable(RankState& state, int l, int32_t index, const Slice& slice, bool writes) {
  const Schedule& s = *state.schedule;
  const bool inside = slice.place >= 0 && slice.blocks >= 1 &&
                      slice.place + slice.blocks <= s.blocks_of(slice.space);
  const bool root_output =
      s.collective == Collective::kReduce || s.collective == Collective::kGather;
  const bool lacks =
      s.rank != s.root && ((slice.space == Space::kOutput && root_output) ||
                           (slice.space == Space::kInput && s.collective == Collective::kScatter));
  if (!inside) blame(state, l, index, "a slice out of bounds");
  if (lacks) blame(state, l, index, "uses a buffer that only the root has");
  if (writes && slice.space == Space::kInput) blame(state, l, index, "writes the input");
  if (slice.blocks > 1 && slice.space == Space::kStage && splits(s.collective))
    blame(state, l, index, "stage slots of a vector's blocks are not adjacent data");
  return proof_.holds();
}

}  // namespace tern::coll
