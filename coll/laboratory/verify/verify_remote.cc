// SPDX-License-Identifier: Apache-2.0
// Order across ranks, for puts and gets. Clocks advance along lanes and merge with messages and
// signals: a signal follows all earlier steps of the lane, a message the send.
#include "coll/laboratory/verify/verify_run.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace tern::coll {
namespace {

void join(Clock& into, const Clock& more) {
  if (into.size() < more.size()) into.resize(more.size(), 0);
  for (size_t i = 0; i < more.size(); ++i) into[i] = std::max(into[i], more[i]);
}

int32_t at_place(const Clock& clock, size_t place) {
  return place < clock.size() ? clock[place] : 0;
}

}  // namespace

void Clocks::number_lanes() {
  size_t next = 0;
  for (RankState& state : ranks_) {
    used_ |= state.schedule->remote;
    state.first_place = next;
    next += 1 + state.lanes.size();
  }
  for (RankState& state : ranks_)
    for (LaneState& lane : state.lanes) {
      Clock start(used_ ? next : 0, 0);
      if (used_) start[state.first_place] = 1;
      lane.after.push_back(std::move(start));
    }
}

void Clocks::begin(RankState& state, int l, int32_t index, const Step& step) {
  if (!used_) return;
  LaneState& lane = state.lanes[static_cast<size_t>(l)];
  Clock now = lane.after[static_cast<size_t>(step.after)];
  if (index > 0) join(now, lane.starts.back());
  if (step.wait_steps > 0)
    join(now, state.lanes[step.wait_lane].after[static_cast<size_t>(step.wait_steps)]);
  lane.starts.push_back(std::move(now));
  lane.heard_time.resize(static_cast<size_t>(index) + 1);
}

void Clocks::hear(const Posted& send, const Posted& recv) {
  if (!used_) return;
  lane_of(recv).heard_time[static_cast<size_t>(recv.step)] =
      lane_of(send).starts[static_cast<size_t>(send.step)];
}

void Clocks::pass(RankState& state, int l) {
  if (!used_) return;
  LaneState& lane = state.lanes[static_cast<size_t>(l)];
  const auto done = static_cast<size_t>(lane.complete) - 1;
  Clock now = lane.after[done];
  join(now, lane.starts[done]);
  join(now, lane.heard_time[done]);
  now[state.first_place + 1 + static_cast<size_t>(l)] = lane.complete;
  lane.after.push_back(std::move(now));
}

bool Clocks::surely_before(const Access& one, const Clock& time) const {
  const size_t first = ranks_[static_cast<size_t>(one.rank)].first_place;
  return at_place(time, first + 1 + static_cast<size_t>(one.lane)) > one.step;
}

bool Clocks::entered(const RankState& of, const RankState& state, int l, int32_t index) const {
  const Clock& now = state.lanes[static_cast<size_t>(l)].starts[static_cast<size_t>(index)];
  return at_place(now, of.first_place) != 0;
}

Clock Clocks::end(const RankState& state) {
  Clock end;
  for (const LaneState& lane : state.lanes) join(end, lane.after.back());
  return end;
}

RankState& SymbolicRun::owner_of(RankState& state, const Slice& slice) {
  return slice.owner == kSelf ? state : at(slice.owner);
}

// The owner must exist, be the step's peer, and have entered.
bool SymbolicRun::reachable(RankState& state, int l, int32_t index, const Slice& slice) {
  if (slice.owner == kSelf) return true;
  const Step& step = state.schedule->step(l, index);
  if (slice.owner < 0 || slice.owner >= size() || slice.owner != step.peer) {
    blame(state, l, index, strf("a slice of rank %d, not of the peer", slice.owner));
    return false;
  }
  if (!clocks_.entered(at(slice.owner), state, l, index))
    blame(state, l, index,
          strf("touches memory of rank %d, which may not have entered", slice.owner));
  return proof_.holds();
}

void SymbolicRun::carry(RankState& state, int l, int32_t index, const Step& step) {
  RankState& from = owner_of(state, state.schedule->source(step));
  RankState& to = owner_of(state, state.schedule->destination(step));
  const Slice& source = state.schedule->source(step);
  const Slice& target = state.schedule->destination(step);
  if (!promises_.same_sizes(*from.schedule, source, *to.schedule, target))
    return blame(state, l, index, "source and destination differ in size");
  const std::vector<Symbol> values = read(from, source);
  for (const Symbol& value : values)
    if (!value.written()) blame(state, l, index, "carries data that was not written");
  if (proof_.holds()) write(to, target, values);
}

// A leaving rank's clock must contain all accesses to the rank's memory.
void SymbolicRun::check_left(RankState& state) {
  if (!clocks_.used()) return;
  const Clock end = Clocks::end(state);
  for (int space = 0; space < kSpaces; ++space)
    for (const auto& accesses : state.accesses[space])
      for (const Access& one : accesses)
        if (one.rank != state.index && !clocks_.surely_before(one, end))
          return blame(
              at(one.rank), one.lane, one.step,
              strf("touches memory of rank %d, which may have left", state.schedule->rank));
}

}  // namespace tern::coll
