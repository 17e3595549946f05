// SPDX-License-Identifier: Apache-2.0
// Order: list scheduling of all ranks' steps, one at a time per rank. Among the earliest steps,
// reductions precede arrived messages, then puts and signals, then copies: data is copied out while
// another pass uses the link, and credits return early.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/error.hpp"
#include "coll/lower/program.hpp"
#include "mpi.h"

namespace tern::coll::lowering {
namespace {

// The time unit is the sending of a whole vector, or a block.
constexpr double kStart = 0.3, kLatency = 0.3, kReduceTime = 0.25, kCopyTime = 0.15, kNever = 1e300;

struct StepId {
  int32_t rank;
  int lane;
  int32_t step;
};

struct Pending {
  int lane;
  int32_t step;
  double ready;
};

struct LaneState {
  int32_t issued = 0, complete = 0;
  std::vector<char> done;
};

/// The lower Rank goes first.
struct Rank {
  double start = kNever;
  int kind = 0;
  size_t pending = 0;
  [[nodiscard]] bool operator<(const Rank& other) const noexcept {
    return std::tie(start, kind, pending) < std::tie(other.start, other.kind, other.pending);
  }
};

struct RankState {
  const Schedule* schedule;
  std::vector<LaneState> lanes;
  std::vector<Pending> pending;
  double free = 0;
  Rank next;  // a lower bound, unless `stale`
  bool stale = true;
};

struct PartnerEnd {
  int32_t message = kNone;  // kNone if the edge is not mapped
  StepId partner{kSelf, 0, 0};
  double posted = -1;
};

bool sends(Verb verb) noexcept { return verb == Verb::kSend || verb == Verb::kSignal; }
bool receives(Verb verb) noexcept { return verb == Verb::kRecv || verb == Verb::kWait; }

class GlobalRun {
 public:
  GlobalRun(const std::vector<Schedule>& all, const Mapped& mapped) : all_(all) {
    for (const Schedule& schedule : all) {
      RankState state{.schedule = &schedule, .lanes = {}, .pending = {}, .next = {}};
      state.lanes.resize(static_cast<size_t>(schedule.lanes()));
      for (int l = 0; l < schedule.lanes(); ++l)
        state.lanes[static_cast<size_t>(l)].done.assign(static_cast<size_t>(schedule.lane_size(l)),
                                                        0);
      ranks_.push_back(std::move(state));
      ends_.emplace_back(schedule.steps.size());
    }
    match(mapped);
    made_.ranks.resize(all.size());
  }

  Programs run() {
    for (int32_t r = 0; r < size(); ++r) issue(r);
    while (const std::optional<int32_t> first = earliest()) execute(*first);
    for (const RankState& state : ranks_)
      for (int l = 0; l < state.schedule->lanes(); ++l)
        if (state.lanes[static_cast<size_t>(l)].complete < state.schedule->lane_size(l))
          throw Error(MPI_ERR_INTERN,
                      state.schedule->describe(l, state.lanes[static_cast<size_t>(l)].complete) +
                          ": never completes, cannot be lowered");
    return std::move(made_);
  }

 private:
  [[nodiscard]] int32_t size() const noexcept { return static_cast<int32_t>(ranks_.size()); }
  [[nodiscard]] RankState& at(int32_t rank) { return ranks_[static_cast<size_t>(rank)]; }
  [[nodiscard]] const Step& step_at(const StepId& place) const {
    return all_[static_cast<size_t>(place.rank)].step(place.lane, place.step);
  }
  [[nodiscard]] PartnerEnd& end_at(const StepId& place) {
    const auto r = static_cast<size_t>(place.rank);
    return ends_[r][all_[r].lane_begin[static_cast<size_t>(place.lane)] +
                    static_cast<uint32_t>(place.step)];
  }

  // Messages match by order within a lane or slot between two ranks.
  void match(const Mapped& mapped) {
    std::map<std::tuple<int32_t, int32_t, int32_t>, std::pair<std::vector<StepId>, size_t>> edges;
    const auto each = [&](auto look) {
      for (int32_t r = 0; r < size(); ++r)
        for (int l = 0; l < at(r).schedule->lanes(); ++l)
          for (int32_t i = 0; i < at(r).schedule->lane_size(l); ++i)
            look(StepId{r, l, i}, at(r).schedule->step(l, i));
    };
    const auto lane_of = [](const StepId& place, const Step& step) {
      const bool data = step.verb == Verb::kSend || step.verb == Verb::kRecv;
      return data ? static_cast<int32_t>(place.lane) : -1 - step.slot;
    };
    each([&](const StepId& place, const Step& step) {
      if (sends(step.verb))
        edges[{place.rank, step.peer, lane_of(place, step)}].first.push_back(place);
    });
    each([&](const StepId& place, const Step& step) {
      if (!receives(step.verb)) return;
      auto& [waiting, next] = edges[{step.peer, place.rank, lane_of(place, step)}];
      if (next == waiting.size())
        throw Error(MPI_ERR_INTERN,
                    all_[static_cast<size_t>(place.rank)].describe(place.lane, place.step) +
                        ": is never sent, cannot be lowered");
      pair_up(waiting[next++], place, mapped(step.peer, place.rank));
    });
    for (const auto& [key, edge] : edges)
      if (edge.second != edge.first.size()) {
        const StepId& place = edge.first[edge.second];
        throw Error(MPI_ERR_INTERN,
                    all_[static_cast<size_t>(place.rank)].describe(place.lane, place.step) +
                        ": is never received, cannot be lowered");
      }
  }

  void pair_up(const StepId& send, const StepId& recv, bool mapped) {
    end_at(send).partner = recv;
    end_at(recv).partner = send;
    if (!mapped) return;
    const auto number = static_cast<int32_t>(made_.messages.size());
    end_at(send).message = end_at(recv).message = number;
    const Schedule& to = all_[static_cast<size_t>(recv.rank)];
    const Step& step = step_at(recv);
    const bool data = step.verb == Verb::kRecv;
    Slice far{Space::kInbox, 0, 0, number, recv.rank};
    if (data) far = inbox_slice(to, to.destination(step), number);
    far.owner = recv.rank;
    made_.messages.push_back({send.rank, recv.rank, data, far});
    arrived_.push_back(-1);
  }

  void issue(int32_t r) {
    RankState& state = at(r);
    state.stale = true;
    bool moved = true;
    while (moved) {
      moved = false;
      for (int l = 0; l < state.schedule->lanes(); ++l) {
        LaneState& lane = state.lanes[static_cast<size_t>(l)];
        while (lane.issued < state.schedule->lane_size(l)) {
          const Step& step = state.schedule->step(l, lane.issued);
          if (lane.complete < step.after || state.lanes[step.wait_lane].complete < step.wait_steps)
            break;
          post(r, {r, l, lane.issued++}, step);
          moved = true;
        }
      }
    }
  }

  void post(int32_t r, const StepId& place, const Step& step) {
    RankState& state = at(r);
    if (step.verb == Verb::kJoin) return done(place);
    state.pending.push_back({place.lane, place.step, state.free});
    if (!sends(step.verb) && !receives(step.verb)) return;
    PartnerEnd& end = end_at(place);
    end.posted = state.free;
    if (end.message == kNone) at(end.partner.rank).stale = true;
  }

  void done(const StepId& place) {
    LaneState& lane = at(place.rank).lanes[static_cast<size_t>(place.lane)];
    lane.done[static_cast<size_t>(place.step)] = 1;
    while (static_cast<size_t>(lane.complete) < lane.done.size() &&
           lane.done[static_cast<size_t>(lane.complete)] != 0)
      ++lane.complete;
  }

  // The receiver starts unmapped messages.
  Rank start_of(int32_t r, size_t index) {
    const RankState& state = at(r);
    const Pending& pending = state.pending[index];
    const StepId place{r, pending.lane, pending.step};
    const Step& step = step_at(place);
    const double from = std::max(state.free, pending.ready);
    if (step.verb == Verb::kReduce) return {from, 0, index};
    if (step.verb == Verb::kCopy) return {from, 3, index};
    const PartnerEnd& end = end_at(place);
    if (end.message != kNone) {
      if (sends(step.verb)) return {from, 2, index};
      const double arrived = arrived_[static_cast<size_t>(end.message)];
      return arrived < 0 ? Rank{} : Rank{std::max(from, arrived), 1, index};
    }
    const double posted = end_at(end.partner).posted;
    if (sends(step.verb) || posted < 0) return {};
    return {std::max({from, posted, at(end.partner.rank).free}), 2, index};
  }

  Rank best_of(int32_t r) {
    Rank best;
    for (size_t i = 0; i < at(r).pending.size(); ++i) best = std::min(best, start_of(r, i));
    return best;
  }

  // Each rank's stored `next` is a lower bound, unless the rank is stale.
  std::optional<int32_t> earliest() {
    for (;;) {
      int32_t first = kNone;
      for (int32_t r = 0; r < size(); ++r) {
        RankState& state = at(r);
        if (state.stale) state.next = best_of(r);
        state.stale = false;
        if (state.next.start < kNever && (first == kNone || state.next < at(first).next)) first = r;
      }
      if (first == kNone) return std::nullopt;
      const Rank now = best_of(first);
      const bool same = !(now < at(first).next) && !(at(first).next < now);
      at(first).next = now;
      if (same) return first;
    }
  }

  void execute(int32_t r) {
    RankState& state = at(r);
    const Rank what = state.next;
    const Pending pending = state.pending[what.pending];
    const StepId place{r, pending.lane, pending.step};
    const Step& step = step_at(place);
    const PartnerEnd& end = end_at(place);
    if (receives(step.verb) && end.message == kNone)
      return transfer(end.partner, place, what.start);
    state.pending.erase(state.pending.begin() + static_cast<std::ptrdiff_t>(what.pending));
    state.free = what.start;
    if (end.message != kNone)
      sends(step.verb) ? put(place, step, end.message) : take(place, step, end.message);
    else
      local(place, step);
    done(place);
    issue(r);
  }

  void transfer(const StepId& send, const StepId& recv, double start) {
    const double end = start + kStart + size_of(send);
    for (const StepId& place : {send, recv}) {
      RankState& state = at(place.rank);
      std::erase_if(state.pending, [&](const Pending& one) {
        return one.lane == place.lane && one.step == place.step;
      });
      state.free = end;
      done(place);
      const Step& step = step_at(place);
      Op op{.verb = sends(step.verb) ? Verb::kSend : Verb::kRecv,
            .peer = step.peer,
            .sources = {},
            .destinations = {}};
      take_slices(place, op);
      add(place.rank, std::move(op));
    }
    issue(send.rank);
    issue(recv.rank);
  }

  void put(const StepId& place, const Step& step, int32_t message) {
    if (step.verb == Verb::kSend) {
      Op op{.verb = Verb::kPut,
            .peer = step.peer,
            .message = message,
            .sources = {},
            .destinations = {}};
      take_slices(place, op);
      op.destinations = {made_.messages[static_cast<size_t>(message)].far};
      add(place.rank, std::move(op));
      at(place.rank).free += kStart + size_of(place);
    }
    add(place.rank, {.verb = Verb::kSignal,
                     .peer = step.peer,
                     .message = message,
                     .sources = {},
                     .destinations = {}});
    arrived_[static_cast<size_t>(message)] = at(place.rank).free + kLatency;
    at(step.peer).stale = true;
  }

  void take(const StepId& place, const Step& step, int32_t message) {
    add(place.rank, {.verb = Verb::kWait,
                     .peer = step.peer,
                     .message = message,
                     .sources = {},
                     .destinations = {}});
    if (step.verb != Verb::kRecv) return;
    Op op{.verb = Verb::kCopy, .message = message, .sources = {}, .destinations = {}};
    take_slices(place, op);
    op.sources = {made_.messages[static_cast<size_t>(message)].far};
    op.sources[0].owner = kSelf;
    add(place.rank, std::move(op));
  }

  void local(const StepId& place, const Step& step) {
    Op op{.verb = step.verb, .sources = {}, .destinations = {}};
    take_slices(place, op);
    at(place.rank).free += (step.verb == Verb::kReduce ? kReduceTime : kCopyTime) * size_of(place);
    add(place.rank, std::move(op));
  }

  void take_slices(const StepId& place, Op& op) {
    const Schedule& schedule = all_[static_cast<size_t>(place.rank)];
    const Step& step = step_at(place);
    for (int i = 0; i < step.sources; ++i) op.sources.push_back(schedule.source(step, i));
    for (int i = 0; i < step.destinations; ++i)
      op.destinations.push_back(schedule.destination(step, i));
  }

  [[nodiscard]] double size_of(const StepId& place) const {
    const Schedule& schedule = all_[static_cast<size_t>(place.rank)];
    const Step& step = step_at(place);
    if (step.sources + step.destinations == 0) return 0;
    return static_cast<double>(schedule.slices[step.operand].blocks) / schedule.parts;
  }

  void add(int32_t rank, Op op) { made_.ranks[static_cast<size_t>(rank)].push_back(std::move(op)); }

  const std::vector<Schedule>& all_;
  std::vector<RankState> ranks_;
  std::vector<std::vector<PartnerEnd>> ends_;
  std::vector<double> arrived_;  // time by message; negative: not yet
  Programs made_;
};

}  // namespace

Slice inbox_slice(const Schedule& schedule, const Slice& like, int32_t message) noexcept {
  const bool own_block =
      like.space == Space::kOutput && (schedule.collective == Collective::kScatter ||
                                       schedule.collective == Collective::kReduceScatter);
  const int32_t first = own_block ? schedule.rank * schedule.parts : 0;
  return {Space::kInbox, first + like.first, like.blocks, message, kSelf};
}

Programs in_order(const std::vector<Schedule>& all, const Mapped& mapped) {
  return GlobalRun(all, mapped).run();
}

}  // namespace tern::coll::lowering
