// SPDX-License-Identifier: Apache-2.0
// run: lanes, meetings of sends and receives, queues of a pair's flows, semaphores.
#include "coll/laboratory/simulate/run.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "coll/laboratory/simulate/network.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr int kStreamPasses = 2;
constexpr double kBytesPerUs = 1000;  // a GB/s
constexpr int32_t kNone = -1;

struct At {
  int32_t actor = kNone;  // class of ranks
  int32_t step = 0;
  int16_t lane = 0, slot = 0;  // slot: index among concurrent passes
};

struct LaneNow {
  int32_t issued = 0, complete = 0;
  std::vector<int32_t> ahead{};  // heap: completed steps beyond `complete`
};

struct PassNow {
  int32_t number = kNone;
  std::vector<LaneNow> lanes{};
};

struct WordNow {
  bool set = false, awaited = false;
  At waiting{};
};

struct ActorNow {
  std::vector<PassNow> passes;
  std::array<std::vector<WordNow>, 2> words;
};

/// A way leads from a class to a peer's class; `twin` is the peer's way back.
struct Way {
  int32_t peer, twin;
  double latency = 0;
  size_t first_use = 0;  // of the links and memories along the route
  int32_t uses = 0;
  int32_t head = kNone, tail = kNone;  // the pair's flows, first under way
  int32_t pending = kNone;             // half-posted messages
};

/// A posted step without counterpart.
struct PendingEnd {
  At at;
  int32_t pass, lane, nth, next;
};

/// A flow, or a word to be set; `ends` complete with the flow.
struct MovingFlow {
  double bytes = 0;
  int32_t way = kNone;  // kNone: within a rank
  int32_t reads = 1;
  int32_t pass = 0, next = kNone;
  int32_t word = kNone;
  At ends[2];
};

/// Numbered values; a number given back is taken again.
template <class T>
class Reused {
 public:
  [[nodiscard]] T& operator[](int32_t number) { return values_[static_cast<size_t>(number)]; }
  int32_t take(const T& value) {
    if (free_.empty()) {
      values_.push_back(value);
      return static_cast<int32_t>(values_.size()) - 1;
    }
    const int32_t number = free_.back();
    free_.pop_back();
    (*this)[number] = value;
    return number;
  }
  void give_back(int32_t number) { free_.push_back(number); }

 private:
  std::vector<T> values_;
  std::vector<int32_t> free_;
};

struct Timer {
  double time;
  int32_t flow;
  [[nodiscard]] bool operator>(const Timer& other) const noexcept { return time > other.time; }
};

class PatternRun {
 public:
  PatternRun(const RunInput& in, const Simulation& what, int32_t passes)
      : in_(in), what_(what), passes_(passes) {
    slots_ =
        what.engine == SimulatedEngine::kStream ? kStreamPasses : in.pattern.outline(0).at_once;
    slots_ = std::min(slots_, passes);
    for (const int32_t link : in.classes.first_link)
      network_.add(in.topology.links[static_cast<size_t>(link)].bandwidth() * kBytesPerUs);
    memory_ = static_cast<int32_t>(in.classes.first_link.size());
    actors_.resize(in.classes.first.size());
    for (int32_t a = 0; a < in.classes.count(); ++a) add_actor(a);
    for (int32_t a = 0; a < in.classes.count(); ++a) find_twins(a);
    for (int32_t a = 0; a < in.classes.count(); ++a) find_routes(a);
  }

  Simulated run() {
    for (int32_t a = 0; a < in_.classes.count(); ++a)
      for (int slot = 0; slot < slots_; ++slot) begin_pass(a, slot, slot);
    while (step_time()) continue;
    for (int32_t a = 0; a < in_.classes.count(); ++a)
      for (int slot = 0; slot < slots_; ++slot)
        if (now(a, slot).number >= 0)
          throw Error(MPI_ERR_INTERN, strf("rank %d never completes pass %d: deadlock", rank_of(a),
                                           now(a, slot).number));
    return result();
  }

 private:
  [[nodiscard]] int32_t rank_of(int32_t actor) const {
    return in_.classes.first[static_cast<size_t>(actor)];
  }
  [[nodiscard]] const Outline& outline(int32_t actor) const {
    return in_.pattern.outline(rank_of(actor));
  }
  [[nodiscard]] PassNow& now(int32_t actor, int slot) {
    return actors_[static_cast<size_t>(actor)].passes[static_cast<size_t>(slot)];
  }
  [[nodiscard]] LaneNow& lane_of(const At& at) {
    return now(at.actor, at.slot).lanes[static_cast<size_t>(at.lane)];
  }
  [[nodiscard]] const OutlineStep& step_of(const At& at) const {
    return outline(at.actor).step(at.lane, at.step);
  }
  [[nodiscard]] Way& way(int32_t number) { return ways_[static_cast<size_t>(number)]; }
  [[nodiscard]] MovingFlow& flow(int32_t number) { return flows_[number]; }

  void add_actor(int32_t actor) {
    const double memory = in_.topology.memory_of(rank_of(actor));
    network_.add((memory > 0 ? memory : 1e9) * kBytesPerUs);
    const Outline& s = outline(actor);
    ActorNow& one = actors_[static_cast<size_t>(actor)];
    one.passes.resize(static_cast<size_t>(slots_));
    for (PassNow& pass : one.passes) pass.lanes.resize(static_cast<size_t>(s.lanes()));
    for (auto& half : one.words) {
      half.resize(static_cast<size_t>(s.words));
      for (int32_t w = s.inbox_slots; w < s.words; ++w) half[static_cast<size_t>(w)].set = true;
    }
    first_way_.push_back(static_cast<int32_t>(ways_.size()));
    for (const int32_t peer : in_.pattern.peers(rank_of(actor)))
      ways_.push_back({in_.classes.of[static_cast<size_t>(peer)], kNone});
  }

  void find_twins(int32_t actor) {
    const int32_t rank = rank_of(actor);
    int32_t number = first_way_[static_cast<size_t>(actor)];
    for (const int32_t peer : in_.pattern.peers(rank)) {
      Way& one = way(number++);
      one.twin = first_way_[static_cast<size_t>(one.peer)] + in_.pattern.index_of(peer, rank);
    }
  }

  void find_routes(int32_t actor) {
    const Classes& c = in_.classes;
    const auto peers = in_.pattern.peers(rank_of(actor));
    Route route;
    for (size_t i = 0; i < peers.size(); ++i) {
      if (outline(actor).sends[i] == 0) continue;
      const int32_t number = first_way_[static_cast<size_t>(actor)] + static_cast<int32_t>(i);
      Way& one_way = way(number);
      uses_.clear();
      in_.routes.find(rank_of(actor), peers[i], &route);
      for (const int32_t link : route.links) {
        const int32_t one = c.of_link[static_cast<size_t>(link)];
        // A link of a class carries this share of the flows of the rank's class.
        add_use(one, static_cast<double>(c.size[static_cast<size_t>(actor)]) /
                         c.link_size[static_cast<size_t>(one)]);
      }
      add_use(memory_ + actor, 1);
      add_use(memory_ + one_way.peer, 1);
      one_way.latency = route.latency;
      one_way.first_use = uses_of_ways_.size();
      one_way.uses = static_cast<int32_t>(uses_.size());
      uses_of_ways_.insert(uses_of_ways_.end(), uses_.begin(), uses_.end());
    }
  }

  void begin_pass(int32_t actor, int slot, int32_t number) {
    PassNow& pass = now(actor, slot);
    pass.number = number < passes_ && !outline(actor).steps.empty() ? number : kNone;
    if (pass.number < 0) return;
    for (LaneNow& lane : pass.lanes) {
      lane.issued = lane.complete = 0;
      lane.ahead.clear();
    }
    issue(actor, slot);
  }

  void issue(int32_t actor, int slot) {
    PassNow& pass = now(actor, slot);
    if (pass.number < 0) return;
    const Outline& s = outline(actor);
    bool moved = true, complete = false;
    const int32_t number = pass.number;
    while (moved) {
      moved = false;
      complete = true;
      for (int l = 0; l < s.lanes(); ++l) {
        LaneNow& lane = pass.lanes[static_cast<size_t>(l)];
        while (lane.issued < s.lane_size(l)) {
          const OutlineStep& step = s.step(l, lane.issued);
          if (lane.complete < step.after || pass.lanes[step.wait_lane].complete < step.wait_steps)
            break;
          moved = true;
          execute({actor, lane.issued++, static_cast<int16_t>(l), static_cast<int16_t>(slot)},
                  step);
        }
        complete &= lane.complete == s.lane_size(l);
      }
    }
    if (!complete || pass.number != number) return;
    last_ = network_.now();
    begin_pass(actor, slot, number + slots_);
  }

  void done(const At& at) {
    LaneNow& lane = lane_of(at);
    if (at.step != lane.complete) {
      lane.ahead.push_back(at.step);
      std::push_heap(lane.ahead.begin(), lane.ahead.end(), std::greater<>());
      return;
    }
    ++lane.complete;
    while (!lane.ahead.empty() && lane.ahead.front() == lane.complete) {
      std::pop_heap(lane.ahead.begin(), lane.ahead.end(), std::greater<>());
      lane.ahead.pop_back();
      ++lane.complete;
    }
  }

  void execute(const At& at, const OutlineStep& step) {
    const bool lowered = outline(at.actor).words > 0;
    const bool reduces = step.verb == Verb::kCopy || step.verb == Verb::kReduce;
    if (step.verb == Verb::kJoin) return done(at);
    if (step.verb == Verb::kGet)
      throw Error(MPI_ERR_UNSUPPORTED_OPERATION, "schedules with gets are not simulated");
    if (reduces && step.peer == kSelf) return compute(at, step);
    if (reduces || step.verb == Verb::kPut)
      return carry(first_way(at) + step.peer, bytes_of(at, step), step.sources, at, {});
    if (lowered && step.verb == Verb::kSignal) return signal(at, step);
    if (lowered && step.verb == Verb::kWait) return wait(at, step);
    meet(at, step);
  }

  [[nodiscard]] int32_t first_way(const At& at) const {
    return first_way_[static_cast<size_t>(at.actor)];
  }

  // A meeting belongs to the sender's way.
  void meet(const At& at, const OutlineStep& step) {
    const bool sends = step.verb == Verb::kSend || step.verb == Verb::kSignal;
    const bool signal = step.verb == Verb::kSignal || step.verb == Verb::kWait;
    const int32_t mine = first_way(at) + step.peer;
    const int32_t number = sends ? mine : way(mine).twin;
    const int32_t pass = now(at.actor, at.slot).number, lane = signal ? -1 - step.slot : at.lane;
    for (int32_t* link = &way(number).pending; *link != kNone; link = &pending_[*link].next) {
      const PendingEnd found = pending_[*link];
      if (found.pass != pass || found.lane != lane || found.nth != step.nth) continue;
      pending_.give_back(std::exchange(*link, found.next));
      const At& send = sends ? at : found.at;
      const At& recv = sends ? found.at : at;
      return carry(number, bytes_of(send, step_of(send)), 1, send, recv);
    }
    way(number).pending = pending_.take({at, pass, lane, step.nth, way(number).pending});
  }

  void begin_after(double latency, const MovingFlow& made) {
    timers_.push_back({network_.now() + latency, flows_.take(made)});
    std::push_heap(timers_.begin(), timers_.end(), std::greater<>());
  }

  void carry(int32_t number, double bytes, int32_t reads, const At& send, const At& recv) {
    begin_after(way(number).latency, {.bytes = bytes,
                                      .way = number,
                                      .reads = reads,
                                      .pass = now(send.actor, send.slot).number,
                                      .ends = {send, recv}});
  }

  void compute(const At& at, const OutlineStep& step) {
    begin_after(0, {.bytes = bytes_of(at, step),
                    .reads = step.sources + step.destinations,
                    .pass = now(at.actor, at.slot).number,
                    .ends = {at, {}}});
  }

  void signal(const At& at, const OutlineStep& step) {
    const int32_t number = first_way(at) + step.peer;
    begin_after(step.follows_put ? 0 : way(number).latency, {.way = number,
                                                             .pass = now(at.actor, at.slot).number,
                                                             .word = step.slot,
                                                             .ends = {at, {}}});
    done(at);
  }

  [[nodiscard]] WordNow& word(int32_t actor, int32_t pass, int32_t number) {
    return actors_[static_cast<size_t>(actor)]
        .words[static_cast<size_t>(pass % 2)][static_cast<size_t>(number)];
  }

  void wait(const At& at, const OutlineStep& step) {
    WordNow& one = word(at.actor, now(at.actor, at.slot).number, step.slot);
    if (std::exchange(one.set, false)) return done(at);
    one.awaited = true;
    one.waiting = at;
  }

  [[nodiscard]] double bytes_of(const At& at, const OutlineStep& step) const {
    const Outline& s = outline(at.actor);
    return what_.bytes / passes_ / s.parts * step.blocks;
  }

  // Events of the same time, as far as rounding tells, are one batch.
  bool step_time() {
    const double ends = network_.next_end();
    const double begins =
        timers_.empty() ? std::numeric_limits<double>::infinity() : timers_.front().time;
    const double time = std::max(std::min(ends, begins), network_.now());
    if (time == std::numeric_limits<double>::infinity()) return false;
    left_.clear();
    for (const size_t number : network_.advance(time))
      left_.push_back(static_cast<int32_t>(number));
    begun_.clear();
    while (!timers_.empty() && timers_.front().time <= time + Network::tolerance(time)) {
      begun_.push_back(timers_.front().flow);
      std::pop_heap(timers_.begin(), timers_.end(), std::greater<>());
      timers_.pop_back();
    }
    const auto place = [&](int32_t number) {
      const MovingFlow& one = flow(number);
      return std::tuple(one.pass, one.ends[0].lane, one.ends[0].step, one.ends[0].actor);
    };
    std::sort(begun_.begin(), begun_.end(),
              [&](int32_t a, int32_t b) { return place(a) < place(b); });
    std::sort(left_.begin(), left_.end(),
              [&](int32_t a, int32_t b) { return place(a) < place(b); });
    for (size_t i = 0; i < begun_.size(); ++i) begin(begun_[i]);
    for (size_t i = 0; i < left_.size(); ++i) leave(left_[i]);
    end_steps();
    return true;
  }

  void begin(int32_t number) {
    const MovingFlow& one = flow(number);
    if (one.word != kNone) return set_word(number);
    if (one.way == kNone) return start(number);
    Way& queue = way(one.way);
    const bool busy = queue.head != kNone;
    (busy ? flow(queue.tail).next : queue.head) = number;
    queue.tail = number;
    if (!busy) start(number);
  }

  void set_word(int32_t number) {
    const MovingFlow one = flow(number);
    flows_.give_back(number);
    WordNow& target = word(way(one.way).peer, one.pass, one.word);
    if (std::exchange(target.awaited, false))
      completed_.push_back(target.waiting);
    else
      target.set = true;
  }

  void start(int32_t number) {
    const MovingFlow& one = flow(number);
    if (one.bytes <= 0) {
      left_.push_back(number);
      return;
    }
    const int32_t memory = memory_ + one.ends[0].actor;
    uses_.clear();
    if (one.way != kNone) {
      const auto route = uses_of_ways_.begin() + static_cast<ptrdiff_t>(way(one.way).first_use);
      uses_.assign(route, route + way(one.way).uses);
    }
    if (one.way == kNone || one.reads != 1)
      add_use(memory, one.way == kNone ? one.reads : one.reads - 1);
    network_.start(one.bytes, uses_, static_cast<size_t>(number));
  }

  void add_use(int32_t resource, double weight) {
    for (Network::LinkUse& use : uses_)
      if (use.resource == resource) {
        use.weight += weight;
        return;
      }
    uses_.push_back({resource, weight});
  }

  // The next flow of the pair starts.
  void leave(int32_t number) {
    const MovingFlow one = flow(number);
    flows_.give_back(number);
    for (const At& at : one.ends)
      if (at.actor != kNone) completed_.push_back(at);
    if (one.way == kNone) return;
    Way& queue = way(one.way);
    queue.head = one.next;
    if (queue.head != kNone) start(queue.head);
  }

  void end_steps() {
    ending_.swap(completed_);
    completed_.clear();
    for (const At& at : ending_) done(at);
    for (const At& at : ending_) issue(at.actor, at.slot);
  }

  Simulated result() {
    Simulated made;
    made.time = last_;
    made.passes = passes_;
    made.classes = in_.classes.count();
    for (size_t i = 0; i < in_.topology.links.size(); ++i) {
      made.carried.push_back(network_.carried(in_.classes.of_link[i]));
      const double most = in_.topology.links[i].bandwidth() * kBytesPerUs * last_;
      const double share = last_ > 0 ? made.carried[i] / most : 0;
      if (share <= made.share * (1 + 1e-9)) continue;
      made.share = share;
      made.busiest = static_cast<int32_t>(i);
    }
    return made;
  }

  const RunInput& in_;
  const Simulation& what_;
  const int32_t passes_;
  int slots_ = 1;
  int32_t memory_ = 0;  // resource of class 0's memory
  Network network_;
  std::vector<ActorNow> actors_;
  std::vector<int32_t> first_way_;
  std::vector<Way> ways_;
  std::vector<Network::LinkUse> uses_of_ways_;  // by flows that read once
  Reused<PendingEnd> pending_;
  Reused<MovingFlow> flows_;
  std::vector<Timer> timers_;  // heap
  std::vector<int32_t> begun_, left_;
  std::vector<At> completed_, ending_;
  std::vector<Network::LinkUse> uses_;
  double last_ = 0;  // end of the last pass
};

}  // namespace

Simulated run_pattern(const RunInput& input, const Simulation& what, int32_t passes) {
  return PatternRun(input, what, passes).run();
}

}  // namespace tern::coll
