// SPDX-License-Identifier: Apache-2.0
// Verifier: a symbolic execution in which sends wait for their receives.
#include "coll/verify.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/symbol.hpp"

namespace tern::coll {
namespace {

struct Access {
  int lane;
  int32_t step;
  bool writes;
};

struct LaneState {
  int32_t issued = 0, complete = 0;  // `complete`: all steps before it are
  std::vector<char> done;
  std::vector<std::vector<int32_t>>
      known;  // per step: steps of each lane that are complete at its start
  std::vector<std::pair<int32_t, Symbol>>
      heard;  // barrier: (wait step, who is known to have entered)
};

struct RankState {
  const Schedule* schedule;
  std::vector<Symbol> memory[kSpaces];
  std::vector<std::vector<Access>> accesses[kSpaces];
  std::vector<LaneState> lanes;
};

struct Posted {
  int32_t rank;
  int lane;
  int32_t step;
  std::vector<Symbol> values;  // of a send or a signal
};
struct Edge {
  std::deque<Posted> sends, recvs;
};
using EdgeKey = std::tuple<int32_t, int32_t, int, int32_t>;  // from, to, lane (-1: signals), slot

class Execution {
 public:
  Execution(const std::vector<Schedule>& schedules, bool in_place, bool commutative)
      : in_place_(in_place), commutative_(commutative) {
    for (const Schedule& schedule : schedules) add(schedule);
  }

  Proof run() {
    for (RankState& state : ranks_) check_shape(*state.schedule);
    for (int32_t r = 0; r < size(); ++r) ready_.push_back(r);
    while (!ready_.empty() && proof_.holds()) {
      const int32_t rank = ready_.front();
      ready_.pop_front();
      advance(rank);
    }
    for (int32_t r = 0; r < size() && proof_.holds(); ++r) check_end(r);
    return proof_;
  }

 private:
  [[nodiscard]] int32_t size() const noexcept { return static_cast<int32_t>(ranks_.size()); }
  [[nodiscard]] RankState& at(int32_t rank) { return ranks_[static_cast<size_t>(rank)]; }

  void blame(const RankState& state, int lane, int32_t step, const std::string& what) {
    if (proof_.holds()) proof_.fault = state.schedule->describe(lane, step) + ": " + what;
  }

  void add(const Schedule& schedule) {
    RankState state{.schedule = &schedule, .memory = {}, .accesses = {}, .lanes = {}};
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

  void fill_start(RankState& state) {
    const Schedule& s = *state.schedule;
    const bool bcast = s.collective == Collective::kBcast;
    if (bcast && s.rank != s.root) return;
    auto& memory = state.memory[static_cast<int>(bcast ? Space::kOutput : Space::kInput)];
    for (size_t i = 0; i < memory.size(); ++i) {
      memory[i] = Symbol(static_cast<int32_t>(i), s.rank, s.rank + 1);
      const int32_t same =
          bcast ? -1 : in_place_block(s.collective, s.rank, s.root, static_cast<int32_t>(i));
      if (in_place_ && same >= 0)
        state.memory[static_cast<int>(Space::kOutput)][static_cast<size_t>(same)] = memory[i];
    }
  }

  void check_shape(const Schedule& s) {
    const int32_t scratch = s.stage_slots > 2 * s.ranks + 4 ? s.stage_slots : 0;
    if (scratch != 0 || s.mirrors > 2)
      proof_.fault = strf("%s %s: %d stage slots and %d mirrors on %d ranks are too much scratch",
                          name_of(s.collective), s.algorithm, s.stage_slots, s.mirrors, s.ranks);
    if (s.remote)
      proof_.fault =
          strf("%s %s: puts and gets cannot be proved yet", name_of(s.collective), s.algorithm);
  }

  // Where a block lies: under MPI_IN_PLACE an input block may be an output block.
  [[nodiscard]] std::pair<int, size_t> where(const Schedule& s, const Slice& slice,
                                             int32_t i) const noexcept {
    const int32_t block = slice.place + i;
    if (in_place_ && slice.space == Space::kInput) {
      const int32_t same = in_place_block(s.collective, s.rank, s.root, block);
      if (same >= 0) return {static_cast<int>(Space::kOutput), static_cast<size_t>(same)};
    }
    return {static_cast<int>(slice.space), static_cast<size_t>(block)};
  }

  void advance(int32_t rank) {
    RankState& state = at(rank);
    bool moved = true;
    while (moved && proof_.holds()) {
      moved = false;
      for (int l = 0; l < state.schedule->lanes(); ++l)
        while (proof_.holds() && try_issue(rank, l)) moved = true;
    }
  }

  bool try_issue(int32_t rank, int l) {
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

  // known[step][lane]: what the dependencies of a step, and theirs, guarantee to be complete when
  // it starts.
  void learn(RankState& state, int l, int32_t index, const Step& step) {
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

  void touch(RankState& state, int l, int32_t index, const Step& step) {
    for (int i = 0; i < step.sources; ++i)
      touch_slice(state, l, index, state.schedule->source(step, i), false);
    for (int i = 0; i < step.destinations; ++i)
      touch_slice(state, l, index, state.schedule->destination(step, i), true);
  }

  void touch_slice(RankState& state, int l, int32_t index, const Slice& slice, bool writes) {
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

  static const char* space_name(int space) {
    static constexpr const char* kNames[] = {"the input", "the output", "a mirror", "the stage"};
    return kNames[space];
  }

  bool usable(RankState& state, int l, int32_t index, const Slice& slice, bool writes) {
    const Schedule& s = *state.schedule;
    const bool inside = slice.place >= 0 && slice.blocks >= 1 &&
                        slice.place + slice.blocks <= s.blocks_of(slice.space);
    const bool root_output =
        s.collective == Collective::kReduce || s.collective == Collective::kGather;
    const bool lacks = s.rank != s.root &&
                       ((slice.space == Space::kOutput && root_output) ||
                        (slice.space == Space::kInput && s.collective == Collective::kScatter));
    if (!inside) blame(state, l, index, "a slice out of bounds");
    if (lacks) blame(state, l, index, "uses a buffer that only the root has");
    if (writes && slice.space == Space::kInput) blame(state, l, index, "writes the input");
    if (slice.blocks > 1 && slice.space == Space::kStage && splits(s.collective))
      blame(state, l, index, "stage slots of a vector's blocks are not adjacent data");
    return proof_.holds();
  }

  std::vector<Symbol> read(const RankState& state, const Slice& slice) {
    std::vector<Symbol> values;
    for (int32_t i = 0; i < slice.blocks; ++i) {
      const auto [space, block] = where(*state.schedule, slice, i);
      values.push_back(state.memory[space][block]);
    }
    return values;
  }

  void write(RankState& state, const Slice& slice, const std::vector<Symbol>& values) {
    for (int32_t i = 0; i < slice.blocks; ++i) {
      const auto [space, block] = where(*state.schedule, slice, i);
      state.memory[space][block] = values[static_cast<size_t>(i)];
    }
  }

  std::vector<Symbol> read_written(const RankState& state, int l, int32_t index,
                                   const Slice& slice) {
    std::vector<Symbol> values = read(state, slice);
    for (const Symbol& value : values)
      if (!value.written()) blame(state, l, index, "reads what nobody wrote");
    return values;
  }

  void execute(int32_t rank, int l, int32_t index, const Step& step) {
    RankState& state = at(rank);
    const Schedule& s = *state.schedule;
    switch (step.verb) {
      case Verb::kSend:
        ++proof_.messages;
        post({rank, step.peer, l, 0}, true,
             {rank, l, index, read_written(state, l, index, s.source(step))});
        return;
      case Verb::kRecv:
        post({step.peer, rank, l, 0}, false, {rank, l, index, {}});
        return;
      case Verb::kSignal:
        ++proof_.messages;
        post({rank, step.peer, -1, step.slot}, true,
             {rank, l, index, {heard(state, l, step.after)}});
        finish(rank, l, index);
        return;
      case Verb::kWait:
        post({step.peer, rank, -1, step.slot}, false, {rank, l, index, {}});
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
      case Verb::kJoin:
        break;
    }
    finish(rank, l, index);
  }

  void copy(RankState& state, int l, int32_t index, const Slice& from, const Slice& to) {
    check_sizes(state, from, state, to, l, index);
    if (proof_.holds()) write(state, to, read_written(state, l, index, from));
  }

  void reduce(RankState& state, int l, int32_t index, const Step& step) {
    const Slice& to = state.schedule->destination(step);
    check_sizes(state, state.schedule->source(step), state, to, l, index);
    if (!proof_.holds()) return;
    std::vector<Symbol> sum = read_written(state, l, index, state.schedule->source(step));
    for (int i = 1; i < step.sources && proof_.holds(); ++i) {
      const Slice& right = state.schedule->source(step, i);
      check_sizes(state, right, state, to, l, index);
      const std::vector<Symbol> values = read_written(state, l, index, right);
      if (!proof_.holds()) return;
      for (size_t k = 0; k < sum.size(); ++k) sum[k].append(values[k], commutative_);
    }
    if (proof_.holds()) write(state, to, sum);
  }

  void post(const EdgeKey& key, bool send, Posted posted) {
    if (!proof_.holds()) return;
    Edge& edge = edges_[key];
    (send ? edge.sends : edge.recvs).push_back(std::move(posted));
    while (!edge.sends.empty() && !edge.recvs.empty() && proof_.holds()) {
      match(edge.sends.front(), edge.recvs.front());
      edge.sends.pop_front();
      edge.recvs.pop_front();
    }
  }

  void match(const Posted& send, const Posted& recv) {
    RankState& from = at(send.rank);
    RankState& to = at(recv.rank);
    const Step& send_step = from.schedule->step(send.lane, send.step);
    const Step& recv_step = to.schedule->step(recv.lane, recv.step);
    if (recv_step.verb == Verb::kWait) {
      to.lanes[static_cast<size_t>(recv.lane)].heard.emplace_back(recv.step, send.values[0]);
      finish(recv.rank, recv.lane, recv.step);
      return;
    }
    const Slice& target = to.schedule->destination(recv_step);
    check_sizes(from, from.schedule->source(send_step), to, target, recv.lane, recv.step);
    if (!proof_.holds()) return;
    write(to, target, send.values);
    finish(send.rank, send.lane, send.step);
    finish(recv.rank, recv.lane, recv.step);
  }

  // Who is known to have entered, by the first `steps` steps of a lane. The set is kept as sorted
  // runs of ranks.
  Symbol heard(const RankState& state, int l, int32_t steps) {
    std::vector<char> known(ranks_.size(), 0);
    known[static_cast<size_t>(state.schedule->rank)] = 1;
    for (const auto& [step, symbol] : state.lanes[static_cast<size_t>(l)].heard)
      if (step < steps) symbol.mark(known);
    return Symbol::of_ranks(known);
  }

  // The size of block `number` as any rank would compute it, for sizes that differ from block to
  // block.
  static int64_t size_of(const Schedule& s, const Slice& slice, int32_t i) {
    const int32_t block = slice.first + i;
    if (splits(s.collective)) return 1000 + block;
    if (s.uniform) return 1;
    const bool input = slice.space == Space::kInput;
    switch (s.collective) {
      case Collective::kAlltoall:
        return input ? int64_t{s.rank} * s.ranks + block : int64_t{block} * s.ranks + s.rank;
      case Collective::kReduceScatter:
        return slice.space == Space::kOutput ? s.rank : block;
      case Collective::kScatter:
        return slice.space == Space::kOutput ? s.rank : block;
      default:
        return input ? s.rank : block;
    }
  }

  void check_sizes(const RankState& from, const Slice& source, const RankState& to,
                   const Slice& target, int l, int32_t index) {
    bool same = source.blocks == target.blocks;
    for (int32_t i = 0; same && i < source.blocks; ++i)
      same = size_of(*from.schedule, source, i) == size_of(*to.schedule, target, i);
    if (!same)
      blame(to, l, index,
            strf("blocks %d..%d arrive from blocks %d..%d of rank %d: sizes differ", target.first,
                 target.first + target.blocks - 1, source.first, source.first + source.blocks - 1,
                 from.schedule->rank));
  }

  void finish(int32_t rank, int l, int32_t index) {
    LaneState& lane = at(rank).lanes[static_cast<size_t>(l)];
    lane.done[static_cast<size_t>(index)] = 1;
    while (static_cast<size_t>(lane.complete) < lane.done.size() &&
           lane.done[static_cast<size_t>(lane.complete)] != 0)
      ++lane.complete;
    ready_.push_back(rank);
  }

  void check_end(int32_t rank) {
    RankState& state = at(rank);
    for (int l = 0; l < state.schedule->lanes(); ++l) {
      const int32_t complete = state.lanes[static_cast<size_t>(l)].complete;
      if (complete < state.schedule->lane_size(l))
        return blame(state, l, complete, "never completes: deadlock");
    }
    if (state.schedule->collective == Collective::kBarrier) return check_barrier(state);
    const auto& output = state.memory[static_cast<int>(Space::kOutput)];
    for (size_t i = 0; i < output.size() && proof_.holds(); ++i)
      check_block(*state.schedule, static_cast<int32_t>(i), output[i]);
  }

  void check_barrier(const RankState& state) {
    std::vector<char> known(ranks_.size(), 0);
    known[static_cast<size_t>(state.schedule->rank)] = 1;
    for (const LaneState& lane : state.lanes)
      for (const auto& [step, symbol] : lane.heard) symbol.mark(known);
    for (size_t r = 0; r < known.size() && proof_.holds(); ++r)
      if (known[r] == 0)
        proof_.fault = strf("%s, rank %d leaves without word from rank %d",
                            state.schedule->algorithm, state.schedule->rank, static_cast<int>(r));
  }

  void check_block(const Schedule& s, int32_t block, const Symbol& found) {
    const int32_t r = s.rank;
    Symbol wanted;
    switch (s.collective) {
      case Collective::kBcast:
        wanted = Symbol(block, s.root, s.root + 1);
        break;
      case Collective::kGather:
        if (r != s.root) return;
        [[fallthrough]];
      case Collective::kAllgather:
        wanted = Symbol(0, block, block + 1);
        break;
      case Collective::kScatter:
        wanted = Symbol(r, s.root, s.root + 1);
        break;
      case Collective::kAlltoall:
        wanted = Symbol(r, block, block + 1);
        break;
      case Collective::kReduce:
        if (r != s.root) return;
        [[fallthrough]];
      case Collective::kAllreduce:
        wanted = Symbol(block, 0, s.ranks);
        break;
      case Collective::kReduceScatter:
        wanted = Symbol(r, 0, s.ranks);
        break;
      case Collective::kScan:
        wanted = Symbol(block, 0, r + 1);
        break;
      case Collective::kExscan:
        if (r == 0) return;
        wanted = Symbol(block, 0, r);
        break;
      case Collective::kBarrier:
        return;
    }
    if (found != wanted)
      proof_.fault = strf("%s %s, rank %d of %d, root %d: output block %d is %s instead of %s",
                          name_of(s.collective), s.algorithm, r, s.ranks, s.root, block,
                          found.text().c_str(), wanted.text().c_str());
  }

  const bool in_place_, commutative_;
  std::vector<RankState> ranks_;
  std::map<EdgeKey, Edge> edges_;
  std::deque<int32_t> ready_;
  Proof proof_;
};

}  // namespace

Proof verify(const std::vector<Schedule>& schedules, bool in_place, bool commutative) {
  return Execution(schedules, in_place, commutative).run();
}

Proof verify(const Algorithm& algorithm, int32_t ranks, int32_t root, const Levels* levels) {
  std::vector<Schedule> schedules;
  for (int32_t rank = 0; rank < ranks; ++rank)
    schedules.push_back(build(algorithm, ranks, rank, root, levels));
  const bool commutative = (algorithm.limits & kCommutative) != 0;
  for (const Schedule& schedule : schedules)
    if (schedule.uniform && (algorithm.limits & kEqualBlocks) == 0)
      return {strf("%s %s needs equal blocks, but its row does not say so",
                   name_of(algorithm.collective), algorithm.name),
              0, 0};
  Proof proof = verify(schedules, false, commutative);
  return proof.holds() ? verify(schedules, true, commutative) : proof;
}

}  // namespace tern::coll
