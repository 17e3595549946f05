// SPDX-License-Identifier: Apache-2.0
// simulate: event-driven execution of all ranks' passes.
#include "coll/laboratory/simulate/simulate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "coll/laboratory/simulate/network.hpp"
#include "coll/lower/lower.hpp"
#include "coll/topology/routes.hpp"
#include "mpi.h"

namespace tern::coll::simulating {
namespace {

constexpr int kStreamPasses = 2;
constexpr int32_t kMostPassesQueued = 64;
constexpr size_t kMostStepsQueued = 512;
constexpr double kMostPasses = 1e6;
constexpr double kBytesPerUs = 1000;  // a GB/s

struct At {
  int32_t rank;
  int slot;  // index among concurrent passes
  int lane;
  int32_t step;
};

struct LaneNow {
  int32_t issued = 0, complete = 0;
  std::vector<char> done;
};

struct PassNow {
  int32_t number = -1;
  std::vector<LaneNow> lanes;
};

struct Meeting {
  std::deque<At> sends, recvs;
};

struct WordNow {
  bool set = false, awaited = false;
  At waiting{};
};

enum class Happens : uint8_t { kFlowBegins, kWordSet };
struct Event {
  double time;
  uint64_t order;
  Happens what;
  size_t flow = 0;                       // kFlowBegins: in waiting_
  int32_t rank = 0, pass = 0, word = 0;  // kWordSet
  [[nodiscard]] bool operator>(const Event& other) const noexcept {
    return std::tie(time, order) > std::tie(other.time, other.order);
  }
};

struct FlowWaiting {
  double bytes;
  std::vector<Network::LinkUse> uses;
  std::vector<At> ends;  // completed by the flow
  int32_t from = kSelf, to = kSelf;
};

class Machine {
 public:
  Machine(const std::vector<Schedule>& schedules, const Topology& topology, const Simulation& what,
          int32_t passes)
      : schedules_(schedules),
        topology_(topology),
        routes_(topology),
        what_(what),
        passes_(passes) {
    for (const Topology::Link& link : topology.links) network_.add(link.bandwidth() * kBytesPerUs);
    for (const int32_t gpu : topology.gpus) {
      const double memory = topology.nodes[static_cast<size_t>(gpu)].memory;
      memory_.push_back(network_.add((memory > 0 ? memory : 1e9) * kBytesPerUs));
    }
    slots_ = what.engine == SimulatedEngine::kStream ? kStreamPasses : schedules[0].at_once;
    slots_ = std::min(slots_, passes);
    ranks_.resize(schedules.size());
    words_.resize(schedules.size());
    for (size_t r = 0; r < schedules.size(); ++r) {
      ranks_[r].resize(static_cast<size_t>(slots_));
      for (auto& half : words_[r]) half.resize(static_cast<size_t>(schedules[r].words));
      for (auto& half : words_[r])
        for (int32_t w = schedules[r].inbox_slots; w < schedules[r].words; ++w)
          half[static_cast<size_t>(w)].set = true;
    }
  }

  Simulated run() {
    for (int32_t r = 0; r < size(); ++r)
      for (int slot = 0; slot < slots_; ++slot) begin_pass(r, slot, slot);
    while (step_time()) continue;
    for (int32_t r = 0; r < size(); ++r)
      for (int slot = 0; slot < slots_; ++slot)
        if (now(r, slot).number >= 0)
          throw Error(MPI_ERR_INTERN,
                      strf("rank %d never completes pass %d: deadlock", r, now(r, slot).number));
    return result();
  }

 private:
  [[nodiscard]] int32_t size() const noexcept { return static_cast<int32_t>(schedules_.size()); }
  [[nodiscard]] const Schedule& schedule(int32_t r) const {
    return schedules_[static_cast<size_t>(r)];
  }
  [[nodiscard]] PassNow& now(int32_t r, int slot) {
    return ranks_[static_cast<size_t>(r)][static_cast<size_t>(slot)];
  }
  [[nodiscard]] const Step& step_of(const At& at) const {
    return schedule(at.rank).step(at.lane, at.step);
  }

  void begin_pass(int32_t r, int slot, int32_t number) {
    PassNow& pass = now(r, slot);
    pass.number = number < passes_ && !schedule(r).steps.empty() ? number : -1;
    if (pass.number < 0) return;
    pass.lanes.assign(static_cast<size_t>(schedule(r).lanes()), {});
    for (int l = 0; l < schedule(r).lanes(); ++l)
      pass.lanes[static_cast<size_t>(l)].done.assign(static_cast<size_t>(schedule(r).lane_size(l)),
                                                     0);
    issue(r, slot);
  }

  void issue(int32_t r, int slot) {
    PassNow& pass = now(r, slot);
    const Schedule& s = schedule(r);
    bool moved = true, complete = false;
    const int32_t number = pass.number;
    while (moved) {
      moved = false;
      complete = true;
      for (int l = 0; l < s.lanes(); ++l) {
        LaneNow& lane = pass.lanes[static_cast<size_t>(l)];
        while (lane.issued < s.lane_size(l)) {
          const Step& step = s.step(l, lane.issued);
          if (lane.complete < step.after || pass.lanes[step.wait_lane].complete < step.wait_steps)
            break;
          const At at{r, slot, l, lane.issued++};
          moved = true;
          execute(at, step);
        }
        complete &= lane.complete == s.lane_size(l);
      }
    }
    if (!complete || pass.number != number) return;
    last_ = time_;
    begin_pass(r, slot, number + slots_);
  }

  void done(const At& at) {
    LaneNow& lane = now(at.rank, at.slot).lanes[static_cast<size_t>(at.lane)];
    lane.done[static_cast<size_t>(at.step)] = 1;
    while (static_cast<size_t>(lane.complete) < lane.done.size() &&
           lane.done[static_cast<size_t>(lane.complete)] != 0)
      ++lane.complete;
  }

  void end(const std::vector<At>& ends) {
    for (const At& at : ends) done(at);
    for (const At& at : ends) issue(at.rank, at.slot);
  }

  void execute(const At& at, const Step& step) {
    const bool lowered = schedule(at.rank).words > 0;
    switch (step.verb) {
      case Verb::kSend:
        return meet(at, step.peer, at.lane, true);
      case Verb::kRecv:
        return meet(at, step.peer, at.lane, false);
      case Verb::kSignal:
        return lowered ? signal(at, step) : meet(at, step.peer, -1 - step.slot, true);
      case Verb::kWait:
        return lowered ? wait(at, step) : meet(at, step.peer, -1 - step.slot, false);
      case Verb::kCopy:
      case Verb::kReduce:
        if (step.peer != kSelf) return put(at, step);
        return compute(at, step);
      case Verb::kPut:
        return put(at, step);
      case Verb::kGet:
        throw Error(MPI_ERR_UNSUPPORTED_OPERATION, "schedules with gets are not simulated");
      case Verb::kJoin:
        return done(at);
    }
  }

  void meet(const At& at, int32_t peer, int32_t lane, bool sends) {
    const int32_t pass = now(at.rank, at.slot).number;
    const int32_t from = sends ? at.rank : peer, to = sends ? peer : at.rank;
    Meeting& meeting = meetings_[{from, to, lane, pass}];
    (sends ? meeting.sends : meeting.recvs).push_back(at);
    if (meeting.sends.empty() || meeting.recvs.empty()) return;
    const At send = meeting.sends.front(), recv = meeting.recvs.front();
    meeting.sends.pop_front();
    meeting.recvs.pop_front();
    const Step& step = step_of(send);
    const double bytes = step.sources == 0 ? 0 : bytes_of(send, schedule(from).source(step));
    carry(from, to, bytes, 1, {send, recv});
  }

  void put(const At& at, const Step& step) {
    const double bytes = bytes_of(at, schedule(at.rank).source(step));
    carry(at.rank, step.peer, bytes, step.sources, {at});
  }

  void carry(int32_t from, int32_t to, double bytes, int reads, std::vector<At> ends) {
    const Route& route = routes_.between(from, to);
    FlowWaiting flow{bytes, {}, std::move(ends), from, to};
    for (const int32_t link : route.links) flow.uses.push_back({link, 1});
    flow.uses.push_back({memory_[static_cast<size_t>(from)], static_cast<double>(reads)});
    flow.uses.push_back({memory_[static_cast<size_t>(to)], 1});
    begin_flow(route.latency, std::move(flow));
  }

  void compute(const At& at, const Step& step) {
    const double bytes = bytes_of(at, schedule(at.rank).source(step));
    const double touched = step.sources + step.destinations;
    FlowWaiting flow{bytes, {{memory_[static_cast<size_t>(at.rank)], touched}}, {at}, kSelf, kSelf};
    begin_flow(0, std::move(flow));
  }

  void signal(const At& at, const Step& step) {
    const Schedule& s = schedule(at.rank);
    const Step* before = at.step > 0 ? &s.step(at.lane, at.step - 1) : nullptr;
    const bool behind_put = before != nullptr && before->peer == step.peer &&
                            (before->verb == Verb::kPut || before->verb == Verb::kReduce);
    const double latency = behind_put ? 0 : routes_.between(at.rank, step.peer).latency;
    events_.push({.time = time_ + latency,
                  .order = order_++,
                  .what = Happens::kWordSet,
                  .rank = step.peer,
                  .pass = now(at.rank, at.slot).number,
                  .word = step.slot});
    done(at);
  }

  [[nodiscard]] WordNow& word(int32_t rank, int32_t pass, int32_t number) {
    return words_[static_cast<size_t>(rank)][static_cast<size_t>(pass % 2)]
                 [static_cast<size_t>(number)];
  }

  void wait(const At& at, const Step& step) {
    WordNow& one = word(at.rank, now(at.rank, at.slot).number, step.slot);
    if (std::exchange(one.set, false)) return done(at);
    one.awaited = true;
    one.waiting = at;
  }

  [[nodiscard]] double bytes_of(const At& at, const Slice& slice) {
    const Schedule& s = schedule(at.rank);
    return what_.bytes / passes_ / s.parts * slice.blocks;
  }

  void begin_flow(double after, FlowWaiting flow) {
    events_.push({.time = time_ + after,
                  .order = order_++,
                  .what = Happens::kFlowBegins,
                  .flow = waiting_.size()});
    waiting_.push_back(std::move(flow));
  }

  bool step_time() {
    const double event = events_.empty() ? -1 : events_.top().time - time_;
    const double flow = network_.idle() ? -1 : network_.until_next();
    if (event < 0 && flow < 0) return false;
    const bool first = event >= 0 && (flow < 0 || event <= flow);
    const double pass = std::max(0.0, first ? event : flow);
    time_ += pass;
    std::vector<size_t> ended;
    if (!network_.idle()) ended = network_.advance(pass);
    if (first) {
      const Event next = events_.top();
      events_.pop();
      happen(next);
    }
    for (const size_t number : ended) end_flow(number);
    return true;
  }

  void happen(const Event& event) {
    if (event.what == Happens::kFlowBegins) return join_queue(event.flow);
    WordNow& one = word(event.rank, event.pass, event.word);
    if (!std::exchange(one.awaited, false)) {
      one.set = true;
      return;
    }
    end({one.waiting});
  }

  // Flows of a rank pair are sequential.
  void join_queue(size_t flow) {
    const FlowWaiting& one = waiting_[flow];
    if (one.from == kSelf) return start_flow(flow);
    std::deque<size_t>& queue = queues_[{one.from, one.to}];
    queue.push_back(flow);
    if (queue.size() == 1) start_flow(flow);
  }

  void start_flow(size_t flow) {
    FlowWaiting& one = waiting_[flow];
    if (one.bytes <= 0) return leave(flow);
    under_way_[network_.start(one.bytes, one.uses)] = flow;
  }

  void end_flow(size_t number) {
    const size_t flow = under_way_[number];
    under_way_.erase(number);
    leave(flow);
  }

  void leave(size_t flow) {
    const FlowWaiting one = std::move(waiting_[flow]);
    if (one.from != kSelf) {
      std::deque<size_t>& queue = queues_[{one.from, one.to}];
      queue.pop_front();
      if (!queue.empty()) start_flow(queue.front());
    }
    end(one.ends);
  }

  Simulated result() {
    Simulated made;
    made.time = last_;
    made.passes = passes_;
    for (size_t i = 0; i < topology_.links.size(); ++i) {
      made.carried.push_back(network_.carried(static_cast<int>(i)));
      const double share =
          last_ > 0 ? made.carried[i] / (topology_.links[i].bandwidth() * kBytesPerUs * last_) : 0;
      if (share <= made.share * (1 + 1e-9)) continue;
      made.share = share;
      made.busiest = static_cast<int32_t>(i);
    }
    return made;
  }

  const std::vector<Schedule>& schedules_;
  const Topology& topology_;
  Routes routes_;
  const Simulation& what_;
  const int32_t passes_;
  int slots_ = 1;
  Network network_;
  std::vector<int> memory_;
  std::vector<std::vector<PassNow>> ranks_;
  std::vector<std::array<std::vector<WordNow>, 2>> words_;
  std::map<std::tuple<int32_t, int32_t, int32_t, int32_t>, Meeting> meetings_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<FlowWaiting> waiting_;
  std::map<size_t, size_t> under_way_;  // number: index in waiting_
  std::map<std::pair<int32_t, int32_t>, std::deque<size_t>>
      queues_;  // indices in waiting_, by from and to
  uint64_t order_ = 0;
  double time_ = 0, last_ = 0;  // now; end of the last pass
};

int32_t passes_of(const std::vector<Schedule>& all, const Simulation& what) {
  if (what.chunk <= 0 || what.bytes <= 0) return 1;
  for (const Schedule& one : all)
    for (const Slice& slice : one.slices)
      if (!one.within_block(slice)) return 1;
  const Schedule& any = all[0];
  return static_cast<int32_t>(
      std::clamp(std::ceil(what.bytes / (what.chunk * any.parts)), 1.0, kMostPasses));
}

Simulated quickest(const std::vector<Schedule>& schedules, const Topology& topology,
                   const Simulation& what) {
  size_t steps = 1;
  for (const Schedule& schedule : schedules) steps = std::max(steps, schedule.steps.size());
  const auto queued = static_cast<int32_t>(kMostStepsQueued / steps);
  const int32_t most = std::min({passes_of(schedules, what), kMostPassesQueued, queued});
  Simulated best = Machine(schedules, topology, what, 1).run();
  for (int32_t passes = 2; passes <= most; passes *= 2) {
    Simulated one = Machine(schedules, topology, what, passes).run();
    if (one.time < best.time) best = std::move(one);
  }
  return best;
}

Simulated of_all(const std::vector<Schedule>& all, const Topology& topology,
                 const Simulation& what) {
  const auto ranks = static_cast<int32_t>(all.size());
  if (ranks > topology.ranks())
    throw Error(MPI_ERR_ARG,
                strf("%d ranks, but the topology has %d GPUs", ranks, topology.ranks()));
  if (what.engine == SimulatedEngine::kHost)
    return Machine(all, topology, what, passes_of(all, what)).run();
  Routes routes(topology);
  const auto mapped = [&](int32_t from, int32_t to) { return routes.between(from, to).mapped; };
  const std::vector<Schedule> lowered = lower(all, mapped);
  if (what.fit) return quickest(lowered, topology, what);
  return Machine(lowered, topology, what, passes_of(all, what)).run();
}

}  // namespace
}  // namespace tern::coll::simulating

namespace tern::coll {

Simulated simulate(const std::vector<Schedule>& all, const Topology& topology,
                   const Simulation& what) {
  return simulating::of_all(all, topology, what);
}

double bus_bandwidth(const Schedule& any, double bytes, double time) {
  if (time <= 0) return 0;
  const double p = any.ranks, rate = bytes / time / 1000;
  switch (any.collective) {
    case Collective::kBarrier:
      return 0;
    case Collective::kAllreduce:
      return rate * 2 * (p - 1) / p;
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kAllgather:
    case Collective::kAlltoall:
    case Collective::kReduceScatter:
      return rate * (p - 1);
    default:
      return rate;
  }
}

}  // namespace tern::coll
