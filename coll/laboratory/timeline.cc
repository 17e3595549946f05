// SPDX-License-Identifier: Apache-2.0
// Timeline: each rank has a link out, a link in, and a core.
#include "coll/laboratory/timeline.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

namespace tern::coll {
namespace {

struct LaneTime {
  int32_t issued = 0;
  std::vector<double> done;  // by step; negative: not yet
  double last_begin = 0;
};

struct RankTime {
  const Schedule* schedule;
  std::vector<LaneTime> lanes;
  double out = 0, in = 0, core = 0;  // free from
};

struct Waiting {
  int32_t rank;
  int lane;
  int32_t step;
  double from;
};
struct Edge {
  std::deque<Waiting> sends, recvs;
};
struct Pair {
  Waiting send, recv;  // a put has the sender twice
};

bool puts(const Step& step) noexcept {
  return step.verb == Verb::kPut || (step.verb == Verb::kReduce && step.peer != kSelf);
}

class TimedRun {
 public:
  explicit TimedRun(const std::vector<Schedule>& schedules) {
    for (const Schedule& schedule : schedules) {
      RankTime rank{.schedule = &schedule, .lanes = {}};
      rank.lanes.resize(static_cast<size_t>(schedule.lanes()));
      for (int l = 0; l < schedule.lanes(); ++l)
        rank.lanes[static_cast<size_t>(l)].done.assign(static_cast<size_t>(schedule.lane_size(l)),
                                                       -1);
      ranks_.push_back(std::move(rank));
    }
  }

  Timeline run() {
    for (;;) {
      while (issue_all()) continue;
      if (matched_.empty()) return std::move(line_);
      const Pair next = matched_.begin()->second;
      matched_.erase(matched_.begin());
      puts(step_of(next.send)) ? put(next.send) : transfer(next.send, next.recv);
    }
  }

 private:
  static double complete(const LaneTime& lane, int32_t steps) {
    double when = 0;
    for (int32_t i = 0; i < steps; ++i) {
      if (lane.done[static_cast<size_t>(i)] < 0) return -1;
      when = std::max(when, lane.done[static_cast<size_t>(i)]);
    }
    return when;
  }

  /// Signals enable ranks visited earlier, so the loop repeats.
  bool issue_all() {
    bool moved = false;
    for (size_t r = 0; r < ranks_.size(); ++r)
      for (int l = 0; l < ranks_[r].schedule->lanes(); ++l)
        while (try_issue(static_cast<int32_t>(r), l)) moved = true;
    return moved;
  }

  bool try_issue(int32_t r, int l) {
    RankTime& rank = ranks_[static_cast<size_t>(r)];
    LaneTime& lane = rank.lanes[static_cast<size_t>(l)];
    if (lane.issued == rank.schedule->lane_size(l)) return false;
    const Step& step = rank.schedule->step(l, lane.issued);
    const double own = complete(lane, step.after);
    const double other = complete(rank.lanes[step.wait_lane], step.wait_steps);
    if (own < 0 || other < 0 || !told(rank, step)) return false;
    const double from = std::max({own, other, lane.last_begin});
    lane.last_begin = from;
    execute({r, l, lane.issued++, from}, step);
    return true;
  }

  const Step& step_of(const Waiting& at) {
    return ranks_[static_cast<size_t>(at.rank)].schedule->step(at.lane, at.step);
  }

  bool told(const RankTime& rank, const Step& step) {
    const Schedule& schedule = *rank.schedule;
    if (step.verb != Verb::kWait || schedule.words == 0 || schedule.is_credit(step.slot))
      return true;
    return words_.count({schedule.rank, step.slot}) != 0;
  }
  void signal(const Waiting& at, const Step& step) {
    const Schedule& schedule = *ranks_[static_cast<size_t>(at.rank)].schedule;
    const bool credit = ranks_[static_cast<size_t>(step.peer)].schedule->is_credit(step.slot);
    const bool behind_put = at.step > 0 && puts(schedule.step(at.lane, at.step - 1));
    const double end = at.from + (credit || behind_put ? 0 : Timeline::kStart);
    if (!credit) words_[{step.peer, step.slot}] = end;
    finish(at, at.from, end);
  }
  void wait(const Waiting& at, const Step& step) {
    const auto word = words_.find({at.rank, step.slot});
    const double when = word == words_.end() ? at.from : std::max(at.from, word->second);
    finish(at, when, when);
  }

  void execute(const Waiting& at, const Step& step) {
    const bool lowered = ranks_[static_cast<size_t>(at.rank)].schedule->words > 0;
    if (lowered && step.verb == Verb::kSignal) return signal(at, step);
    if (lowered && step.verb == Verb::kWait) return wait(at, step);
    if (puts(step)) {
      matched_.emplace(std::make_pair(at.from, at.step), Pair{at, at});
      return;
    }
    const bool sends = step.verb == Verb::kSend || step.verb == Verb::kSignal;
    if (sends || step.verb == Verb::kRecv || step.verb == Verb::kWait) {
      const bool signal = step.verb == Verb::kSignal || step.verb == Verb::kWait;
      const int32_t from = sends ? at.rank : step.peer, to = sends ? step.peer : at.rank;
      Edge& edge = edges_[{from, to, signal ? -1 - step.slot : at.lane}];
      (sends ? edge.sends : edge.recvs).push_back(at);
      while (!edge.sends.empty() && !edge.recvs.empty()) {
        const Pair pair{edge.sends.front(), edge.recvs.front()};
        const double ready = std::max(pair.send.from, pair.recv.from);
        matched_.emplace(std::make_pair(ready, pair.send.step), pair);
        edge.sends.pop_front();
        edge.recvs.pop_front();
      }
      return;
    }
    const Schedule& schedule = *ranks_[static_cast<size_t>(at.rank)].schedule;
    double work = 0;
    if (step.verb == Verb::kCopy) work = Timeline::kCopy * size_of(schedule, step);
    if (step.verb == Verb::kReduce) work = Timeline::kReduce * size_of(schedule, step);
    double& core = ranks_[static_cast<size_t>(at.rank)].core;
    const double begin = work > 0 ? std::max(at.from, core) : at.from;
    if (work > 0) core = begin + work;
    finish(at, begin, begin + work);
  }

  void transfer(const Waiting& send, const Waiting& recv) {
    RankTime& from = ranks_[static_cast<size_t>(send.rank)];
    RankTime& to = ranks_[static_cast<size_t>(recv.rank)];
    const Step& step = from.schedule->step(send.lane, send.step);
    const double size = step.verb == Verb::kSend ? size_of(*from.schedule, step) : 0;
    const double begin = std::max({send.from, recv.from, from.out, to.in});
    const double end = begin + Timeline::kStart + size;
    from.out = to.in = end;
    finish(send, begin, end);
    finish(recv, begin, end);
  }

  void put(const Waiting& at) {
    RankTime& from = ranks_[static_cast<size_t>(at.rank)];
    const Step& step = step_of(at);
    RankTime& to = ranks_[static_cast<size_t>(step.peer)];
    const bool reduces = step.verb == Verb::kReduce;
    const double begin = std::max({at.from, from.out, to.in, reduces ? from.core : 0});
    const double end = begin + Timeline::kStart + size_of(*from.schedule, step);
    from.out = to.in = end;
    if (reduces) from.core = end;
    finish(at, begin, end);
  }

  static double size_of(const Schedule& schedule, const Step& step) {
    if (step.sources + step.destinations == 0) return 0;
    return static_cast<double>(schedule.slices[step.operand].blocks) / schedule.parts;
  }

  void finish(const Waiting& at, double begin, double end) {
    ranks_[static_cast<size_t>(at.rank)]
        .lanes[static_cast<size_t>(at.lane)]
        .done[static_cast<size_t>(at.step)] = end;
    line_.events.push_back({at.rank, at.lane, at.step, begin, end});
    line_.end = std::max(line_.end, end);
  }

  std::vector<RankTime> ranks_;
  std::map<std::tuple<int32_t, int32_t, int32_t>, Edge> edges_;  // from, to, lane or slot
  std::multimap<std::pair<double, int32_t>, Pair> matched_;      // by readiness, and step
  std::map<std::pair<int32_t, int32_t>, double> words_;          // rank, number: time of the signal
  Timeline line_;
};

}  // namespace

Timeline timeline_of(const std::vector<Schedule>& schedules) { return TimedRun(schedules).run(); }

}  // namespace tern::coll
