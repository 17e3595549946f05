// SPDX-License-Identifier: Apache-2.0
// Order within a rank: completed steps, and conflicting accesses.
#include "coll/laboratory/verify/verify_run.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace tern::coll {
namespace {

const char* space_name(int space) {
  static constexpr const char* kNames[] = {"the input", "the output", "a mirror", "the stage",
                                           "the inbox"};
  return kNames[space];
}

}  // namespace

// known[step][lane] counts steps complete at the step's start, by all dependencies.
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
  clocks_.begin(state, l, index, step);
}

void SymbolicRun::touch(RankState& state, int l, int32_t index, const Step& step) {
  for (int i = 0; i < step.sources; ++i)
    touch_slice(state, l, index, state.schedule->source(step, i), false);
  for (int i = 0; i < step.destinations; ++i)
    touch_slice(state, l, index, state.schedule->destination(step, i), true);
}

void SymbolicRun::touch_slice(RankState& state, int l, int32_t index, const Slice& slice,
                              bool writes) {
  if (!proof_.holds() || !reachable(state, l, index, slice)) return;
  RankState& owner = owner_of(state, slice);
  if (!usable(state, owner, l, index, slice, writes)) return;
  for (int32_t i = 0; i < slice.blocks; ++i) {
    const auto [space, block] = where(*owner.schedule, slice, i);
    auto& accesses = owner.accesses[space][block];
    const Access mine{state.index, l, index, writes};
    for (const Access& before : accesses) {
      const bool same_step = before.rank == mine.rank && before.lane == l && before.step == index;
      if (same_step || (!before.writes && !writes) || is_over(state, l, index, before)) continue;
      return blame(state, l, index,
                   strf("touches block %d of %s%s while %slane %d, step %d may still access it",
                        static_cast<int>(block), space_name(space),
                        slice.owner == kSelf ? "" : strf(" of rank %d", slice.owner).c_str(),
                        before.rank == mine.rank ? "" : strf("rank %d, ", before.rank).c_str(),
                        before.lane, before.step));
    }
    // Steps behind this write are behind all before it.
    if (writes && !clocks_.used()) accesses.clear();
    accesses.push_back(mine);
  }
}

bool SymbolicRun::is_over(RankState& state, int l, int32_t index, const Access& before) {
  const LaneState& lane = state.lanes[static_cast<size_t>(l)];
  const auto i = static_cast<size_t>(index);
  if (clocks_.used()) return clocks_.surely_before(before, lane.starts[i]);
  return lane.known[i][static_cast<size_t>(before.lane)] > before.step;
}

bool SymbolicRun::usable(RankState& state, const RankState& owner, int l, int32_t index,
                         const Slice& slice, bool writes) {
  const Schedule& s = *owner.schedule;
  const bool inside = slice.place >= 0 && slice.blocks >= 1 &&
                      slice.place + slice.blocks <= s.blocks_of(slice.space);
  const bool root_output =
      s.collective == Collective::kReduce || s.collective == Collective::kGather;
  const bool lacks =
      s.rank != s.root && ((slice.space == Space::kOutput && root_output) ||
                           (slice.space == Space::kInput && s.collective == Collective::kScatter));
  // In an inter-communicator the root has no local block.
  const bool not_roots = s.others != 0 && s.rank == s.root &&
                         ((slice.space == Space::kInput && root_output) ||
                          (slice.space == Space::kOutput && s.collective == Collective::kScatter));
  if (!inside) blame(state, l, index, "a slice out of bounds");
  if (not_roots) blame(state, l, index, "uses a buffer absent on the root");
  if (lacks) blame(state, l, index, "uses a buffer of the root only");
  if (writes && slice.space == Space::kInput) blame(state, l, index, "writes the input");
  if (slice.blocks > 1 && slice.space == Space::kStage && (splits(s.collective) || s.parts > 1))
    blame(state, l, index, "stage slots of a vector's blocks are not adjacent data");
  return proof_.holds();
}

}  // namespace tern::coll
