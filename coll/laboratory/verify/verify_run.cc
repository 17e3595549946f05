// SPDX-License-Identifier: Apache-2.0
// SymbolicRun: execution with synchronous sends.
#include "coll/laboratory/verify/verify_run.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "coll/laboratory/verify/images.hpp"

namespace tern::coll {
namespace {

int32_t peer_of(const RankState& state, const Step& step) noexcept {
  const int32_t ranks = state.schedule->ranks;
  return step.peer < ranks ? state.group + step.peer : state.there + step.peer - ranks;
}

}  // namespace

SymbolicRun::SymbolicRun(const std::vector<Schedule>& schedules, bool in_place, bool commutative,
                         Images* images)
    : in_place_(in_place), commutative_(commutative), images_(images), promises_(schedules) {
  for (const Schedule& schedule : schedules) add(schedule);
  clocks_.number_lanes();
}

Proof SymbolicRun::run() {
  for (int32_t r = 0; r < size(); ++r) ready_.push_back(r);
  while (!ready_.empty() && proof_.holds()) {
    const int32_t rank = ready_.front();
    ready_.pop_front();
    advance(rank);
  }
  for (int32_t r = 0; r < size() && proof_.holds(); ++r) check_end(r);
  return proof_;
}

void SymbolicRun::add(const Schedule& schedule) {
  const auto place = static_cast<int32_t>(ranks_.size());
  const int32_t index = images_ == nullptr ? place : schedule.rank;
  const int32_t group = index - schedule.rank;
  RankState state{.schedule = &schedule,
                  .index = index,
                  .group = group,
                  .there = group == 0 ? schedule.ranks : 0,
                  .memory = {},
                  .accesses = {},
                  .lanes = {}};
  for (int s = 0; s < kSpaces; ++s) {
    const auto blocks = static_cast<size_t>(schedule.blocks_of(static_cast<Space>(s)));
    state.memory[s].resize(blocks);
    state.accesses[s].resize(blocks);
  }
  state.lanes.resize(static_cast<size_t>(schedule.lanes()));
  for (int l = 0; l < schedule.lanes(); ++l)
    state.lanes[static_cast<size_t>(l)].done.resize(static_cast<size_t>(schedule.lane_size(l)));
  proof_.steps = std::max(proof_.steps, static_cast<int32_t>(schedule.steps.size()));
  ranks_.push_back(std::move(state));
  fill_start(ranks_.back());
}

void SymbolicRun::advance(int32_t rank) {
  RankState& state = at(rank);
  bool moved = true;
  while (moved && proof_.holds()) {
    moved = false;
    for (int l = 0; l < state.schedule->lanes(); ++l)
      while (proof_.holds() && try_issue(rank, l)) moved = true;
  }
}

bool SymbolicRun::try_issue(int32_t rank, int l) {
  RankState& state = at(rank);
  LaneState& lane = state.lanes[static_cast<size_t>(l)];
  if (lane.issued == state.schedule->lane_size(l)) return false;
  const Step& step = state.schedule->step(l, lane.issued);
  if (lane.complete < step.after) return false;
  if (step.wait_steps > state.lanes[step.wait_lane].complete) return false;
  const int32_t index = lane.issued++;
  learn(state, l, index, step);
  touch(state, l, index, step);
  if (proof_.holds()) execute(rank, l, index, step);
  return true;
}

void SymbolicRun::execute(int32_t rank, int l, int32_t index, const Step& step) {
  RankState& state = at(rank);
  const Schedule& s = *state.schedule;
  const int32_t peer = peer_of(state, step);
  // Sender: a representative, or an image.
  const auto comes_on = [&](int on, int32_t slot) {
    return images_ == nullptr
               ? EdgeKey{peer, rank, on, slot}
               : EdgeKey{images_->place_of(peer), images_->back(peer, state.index), on, slot};
  };
  switch (step.verb) {
    case Verb::kSend:
      ++proof_.messages;
      post({rank, peer, l, 0}, true,
           {rank, l, index, read_written(state, l, index, s.source(step))});
      return;
    case Verb::kRecv:
      post(comes_on(l, 0), false, {rank, l, index, {}});
      return;
    case Verb::kSignal:
      ++proof_.messages;
      post({rank, peer, -1, step.slot}, true, {rank, l, index, {heard(state, l, step.after)}});
      finish(rank, l, index);
      return;
    case Verb::kWait:
      post(comes_on(-1, step.slot), false, {rank, l, index, {}});
      return;
    case Verb::kCopy:
      for (int i = 0; i < step.destinations; ++i)
        copy(state, l, index, s.source(step), s.destination(step, i));
      break;
    case Verb::kReduce:
      reduce(state, l, index, step);
      break;
    case Verb::kPut:
    case Verb::kGet:
      ++proof_.messages;
      carry(state, l, index, step);
      break;
    case Verb::kJoin:
      break;
  }
  finish(rank, l, index);
}

void SymbolicRun::copy(RankState& state, int l, int32_t index, const Slice& from, const Slice& to) {
  check_sizes(*state.schedule, from, state, to, l, index);
  if (proof_.holds()) write(state, to, read_written(state, l, index, from));
}

void SymbolicRun::reduce(RankState& state, int l, int32_t index, const Step& step) {
  const Slice& to = state.schedule->destination(step);
  check_sizes(*state.schedule, state.schedule->source(step), state, to, l, index);
  if (!proof_.holds()) return;
  std::vector<Symbol> sum = read_written(state, l, index, state.schedule->source(step));
  for (int i = 1; i < step.sources && proof_.holds(); ++i) {
    const Slice& right = state.schedule->source(step, i);
    check_sizes(*state.schedule, right, state, to, l, index);
    const std::vector<Symbol> values = read_written(state, l, index, right);
    if (!proof_.holds()) return;
    for (size_t k = 0; k < sum.size(); ++k) sum[k].append(values[k], commutative_);
  }
  if (proof_.holds()) write(state, to, sum);
}

void SymbolicRun::post(const EdgeKey& key, bool send, Posted posted) {
  if (!proof_.holds()) return;
  const auto at = edges_.try_emplace(key).first;
  Edge& edge = at->second;
  (send ? edge.sends : edge.recvs).push_back(std::move(posted));
  while (!edge.sends.empty() && !edge.recvs.empty() && proof_.holds()) {
    match(edge.sends.front(), edge.recvs.front());
    edge.sends.pop_front();
    edge.recvs.pop_front();
  }
  // Unused edges would hold most of the memory on many ranks.
  if (edge.sends.empty() && edge.recvs.empty()) edges_.erase(at);
}

void SymbolicRun::match(const Posted& send, const Posted& recv) {
  RankState& from = at(send.rank);
  RankState& to = at(recv.rank);
  const Step& send_step = from.schedule->step(send.lane, send.step);
  const Step& recv_step = to.schedule->step(recv.lane, recv.step);
  if (images_ != nullptr) return match_image(send, recv);
  clocks_.hear(send, recv);
  if (recv_step.verb == Verb::kWait) {
    to.lanes[static_cast<size_t>(recv.lane)].heard.emplace_back(recv.step, send.values[0]);
    finish(recv.rank, recv.lane, recv.step);
    return;
  }
  const Slice& target = to.schedule->destination(recv_step);
  const bool vectors =
      from.group != to.group && to.schedule->collective == Collective::kReduceScatter;
  if (vectors) take_vector(send, to, target, recv);
  if (!vectors)
    check_sizes(*from.schedule, from.schedule->source(send_step), to, target, recv.lane, recv.step);
  if (!proof_.holds()) return;
  if (!vectors) write(to, target, send.values);
  finish(send.rank, send.lane, send.step);
  finish(recv.rank, recv.lane, recv.step);
}

// Sender: an image of a representative.
void SymbolicRun::match_image(const Posted& send, const Posted& recv) {
  RankState& to = at(recv.rank);
  const Step& step = to.schedule->step(recv.lane, recv.step);
  if (step.verb == Verb::kWait) {
    to.lanes[static_cast<size_t>(recv.lane)].heard.emplace_back(
        recv.step, images_->ranks(step.peer, send.values[0]));
    return finish(recv.rank, recv.lane, recv.step);
  }
  const Schedule& image = images_->of(step.peer);
  const Schedule& one = *at(send.rank).schedule;
  const Slice& source = image.source(image.step(send.lane, send.step));
  const Slice& target = to.schedule->destination(step);
  check_sizes(image, source, to, target, recv.lane, recv.step);
  if (!proof_.holds()) return;
  write(
      to, target,
      images_->values(step.peer, one.source(one.step(send.lane, send.step)), source, send.values));
  finish(send.rank, send.lane, send.step);
  finish(recv.rank, recv.lane, recv.step);
}

size_t SymbolicRun::people() const noexcept {
  return images_ == nullptr ? ranks_.size() : static_cast<size_t>(ranks_[0].schedule->ranks);
}

Symbol SymbolicRun::heard(const RankState& state, int l, int32_t steps) {
  std::vector<char> known(people(), 0);
  known[static_cast<size_t>(state.index)] = 1;
  for (const auto& [step, symbol] : state.lanes[static_cast<size_t>(l)].heard)
    if (step < steps) symbol.mark(known);
  return Symbol::of_ranks(known);
}

void SymbolicRun::finish(int32_t rank, int l, int32_t index) {
  LaneState& lane = at(rank).lanes[static_cast<size_t>(l)];
  lane.done[static_cast<size_t>(index)] = 1;
  while (static_cast<size_t>(lane.complete) < lane.done.size() &&
         lane.done[static_cast<size_t>(lane.complete)] != 0) {
    ++lane.complete;
    clocks_.pass(at(rank), l);
  }
  ready_.push_back(rank);
}

// Under MPI_IN_PLACE an input block may be an output block.
std::pair<int, size_t> SymbolicRun::where(const Schedule& s, const Slice& slice,
                                          int32_t i) const noexcept {
  const int32_t block = slice.place + i;
  if (in_place_ && slice.space == Space::kInput) {
    const int32_t same = s.in_place_block(block);
    if (same >= 0) return {static_cast<int>(Space::kOutput), static_cast<size_t>(same)};
  }
  return {static_cast<int>(slice.space), static_cast<size_t>(block)};
}

std::vector<Symbol> SymbolicRun::read(const RankState& state, const Slice& slice) {
  std::vector<Symbol> values;
  for (int32_t i = 0; i < slice.blocks; ++i) {
    const auto [space, block] = where(*state.schedule, slice, i);
    values.push_back(state.memory[space][block]);
  }
  return values;
}

void SymbolicRun::write(RankState& state, const Slice& slice, const std::vector<Symbol>& values) {
  for (int32_t i = 0; i < slice.blocks; ++i) {
    const auto [space, block] = where(*state.schedule, slice, i);
    state.memory[space][block] = values[static_cast<size_t>(i)];
  }
}

std::vector<Symbol> SymbolicRun::read_written(const RankState& state, int l, int32_t index,
                                              const Slice& slice) {
  std::vector<Symbol> values = read(state, slice);
  for (const Symbol& value : values)
    if (!value.written()) blame(state, l, index, "reads data that was not written");
  return values;
}

}  // namespace tern::coll
