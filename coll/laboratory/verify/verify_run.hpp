// SPDX-License-Identifier: Apache-2.0
// SymbolicRun: the verifier's execution of all ranks' schedules.
#pragma once

#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "coll/laboratory/verify/promises.hpp"
#include "coll/laboratory/verify/proof.hpp"
#include "coll/laboratory/verify/symbol.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll {

/// Clock: surely completed steps of each lane of each rank.
using Clock = std::vector<int32_t>;

struct Access {
  int32_t rank;
  int lane;
  int32_t step;
  bool writes;
};

struct LaneState {
  int32_t issued = 0, complete = 0;  // `complete`: a prefix of the lane
  std::vector<char> done;
  std::vector<std::vector<int32_t>> known;        // completed steps of each lane, per step
  std::vector<std::pair<int32_t, Symbol>> heard;  // barrier: (wait step, entered ranks)
  // Clocks serve puts and gets: at each step's start, of each message, after each completed prefix.
  std::vector<Clock> starts, heard_time, after;
};

struct RankState {
  const Schedule* schedule;
  int32_t index;         // index among both groups' ranks
  int32_t group, there;  // index of each group's rank 0
  std::vector<Symbol> memory[kSpaces];
  std::vector<std::vector<Access>> accesses[kSpaces];
  std::vector<LaneState> lanes;
  size_t first_place = 0;
};

struct Posted {
  int32_t rank;
  int lane;
  int32_t step;
  std::vector<Symbol> values;
};
struct Edge {
  std::deque<Posted> sends, recvs;
};
using EdgeKey = std::tuple<int32_t, int32_t, int, int32_t>;  // from, to, lane (-1: signals), slot

/// Clocks: order across ranks, for puts or gets. A clock has 1 + lanes entries per rank: 1 after
/// its entry, then completed steps.
class Clocks {
 public:
  explicit Clocks(std::vector<RankState>& ranks) noexcept : ranks_(ranks) {}
  /// number_lanes() follows the last add().
  void number_lanes();
  [[nodiscard]] bool used() const noexcept { return used_; }
  /// begin() requires complete dependencies.
  void begin(RankState& state, int l, int32_t index, const Step& step);
  void hear(const Posted& send, const Posted& recv);
  void pass(RankState& state, int l);
  [[nodiscard]] bool surely_before(const Access& one, const Clock& time) const;
  /// entered() is true if rank `of` has surely entered at the step's start.
  [[nodiscard]] bool entered(const RankState& of, const RankState& state, int l,
                             int32_t index) const;
  [[nodiscard]] static Clock end(const RankState& state);

 private:
  [[nodiscard]] LaneState& lane_of(const Posted& one) const {
    return ranks_[static_cast<size_t>(one.rank)].lanes[static_cast<size_t>(one.lane)];
  }

  std::vector<RankState>& ranks_;
  bool used_ = false;
};

class Images;

class SymbolicRun {
 public:
  /// `images`: the schedules are the representatives, and stand for all ranks.
  SymbolicRun(const std::vector<Schedule>& schedules, bool in_place, bool commutative,
              Images* images = nullptr);
  [[nodiscard]] Proof run();

 private:
  void add(const Schedule& schedule);
  void advance(int32_t rank);
  bool try_issue(int32_t rank, int l);
  void execute(int32_t rank, int l, int32_t index, const Step& step);
  void copy(RankState& state, int l, int32_t index, const Slice& from, const Slice& to);
  void reduce(RankState& state, int l, int32_t index, const Step& step);
  void post(const EdgeKey& key, bool send, Posted posted);
  void match(const Posted& send, const Posted& recv);
  Symbol heard(const RankState& state, int l, int32_t steps);
  void finish(int32_t rank, int l, int32_t index);
  [[nodiscard]] std::pair<int, size_t> where(const Schedule& s, const Slice& slice,
                                             int32_t i) const noexcept;
  std::vector<Symbol> read(const RankState& state, const Slice& slice);
  void write(RankState& state, const Slice& slice, const std::vector<Symbol>& values);
  std::vector<Symbol> read_written(const RankState& state, int l, int32_t index,
                                   const Slice& slice);

  void learn(RankState& state, int l, int32_t index, const Step& step);
  void touch(RankState& state, int l, int32_t index, const Step& step);
  void touch_slice(RankState& state, int l, int32_t index, const Slice& slice, bool writes);
  bool usable(RankState& state, const RankState& owner, int l, int32_t index, const Slice& slice,
              bool writes);

  [[nodiscard]] bool is_over(RankState& state, int l, int32_t index, const Access& before);

  [[nodiscard]] RankState& owner_of(RankState& state, const Slice& slice);
  bool reachable(RankState& state, int l, int32_t index, const Slice& slice);
  void carry(RankState& state, int l, int32_t index, const Step& step);
  void check_left(RankState& state);

  void fill_start(RankState& state);
  void check_sizes(const Schedule& from, const Slice& source, const RankState& to,
                   const Slice& target, int l, int32_t index);
  void match_image(const Posted& send, const Posted& recv);
  /// The number of the job's ranks.
  [[nodiscard]] size_t people() const noexcept;
  void check_end(int32_t rank);
  void check_barrier(const RankState& state);
  void check_block(const RankState& state, int32_t block, const Symbol& found);
  void take_vector(const Posted& send, RankState& to, const Slice& target, const Posted& recv);

  [[nodiscard]] int32_t size() const noexcept { return static_cast<int32_t>(ranks_.size()); }
  [[nodiscard]] RankState& at(int32_t rank) { return ranks_[static_cast<size_t>(rank)]; }
  void blame(const RankState& state, int lane, int32_t step, const std::string& what) {
    if (proof_.holds()) proof_.fault = state.schedule->describe(lane, step) + ": " + what;
  }

  const bool in_place_, commutative_;
  Images* const images_;
  std::vector<RankState> ranks_;
  Clocks clocks_{ranks_};
  const Promises promises_;
  std::map<EdgeKey, Edge> edges_;
  std::deque<int32_t> ready_;
  Proof proof_;
};

}  // namespace tern::coll
