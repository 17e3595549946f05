// SPDX-License-Identifier: Apache-2.0
// Builder: verbs that emit one rank's schedule. Dependencies follow from the slices read and
// written, so algorithms cannot omit any. Input and output count as the same memory wherever
// MPI_IN_PLACE may alias them: every schedule works in place.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "coll/schedule/levels.hpp"
#include "coll/schedule/plan.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll {

class Builder {
 public:
  Builder(Collective collective, const char* algorithm, int32_t ranks, int32_t rank, int32_t root,
          const Levels* levels = nullptr, std::shared_ptr<const Neighbors> neighbors = {},
          int32_t others = 0, const Plan* plan = nullptr);

  [[nodiscard]] int32_t ranks() const noexcept { return made_.ranks; }
  [[nodiscard]] int32_t rank() const noexcept { return made_.rank; }
  /// others() counts remote ranks, numbered as peers from ranks() on.
  [[nodiscard]] int32_t others() const noexcept { return made_.others; }
  [[nodiscard]] int32_t root() const noexcept { return made_.root; }
  [[nodiscard]] int32_t parts() const noexcept { return made_.parts; }
  [[nodiscard]] const Levels* levels() const noexcept { return levels_; }
  /// plan() is a plan of the row's own type, where the row has kPlan.
  [[nodiscard]] const Plan* plan() const noexcept { return plan_; }
  [[nodiscard]] const Neighbors& neighbors() const noexcept { return *made_.neighbors; }
  [[nodiscard]] int32_t mirror_blocks() const noexcept { return made_.mirror_blocks(); }
  [[nodiscard]] int32_t ring(int32_t distance) const noexcept {
    return wrap(made_.rank + distance);
  }
  [[nodiscard]] int32_t wrap(int32_t number) const noexcept {
    return ((number % made_.ranks) + made_.ranks) % made_.ranks;
  }

  // The shape of a schedule is set before the first step.
  /// split() cuts the vector, or each block, into parts (default 1); neighbourhoods and
  /// inter-communicators cut no blocks.
  void split(int32_t parts);
  void stage(int32_t slots);     // for any block
  void mirrors(int32_t copies);  // laid out like the vector
  void lanes(int count);
  /// A rank of many deep trees ends a pass late, so more passes at once fill its links.
  void at_once(int32_t passes) noexcept { made_.at_once = passes; }

  [[nodiscard]] static Slice input(int32_t first = 0, int32_t blocks = 1) noexcept {
    return {Space::kInput, first, blocks, first};
  }
  [[nodiscard]] static Slice output(int32_t first = 0, int32_t blocks = 1) noexcept {
    return {Space::kOutput, first, blocks, first};
  }
  /// staged() returns slots [slot, slot + blocks), sized like blocks [first, first + blocks).
  [[nodiscard]] static Slice staged(int32_t slot, int32_t first = 0, int32_t blocks = 1) noexcept {
    return {Space::kStage, first, blocks, slot};
  }

  void send(int32_t to, const Slice& slice);
  void recv(int32_t from, const Slice& slice);
  void copy(const Slice& from, const Slice& to);
  /// reduce(): to = left op right; `to` is `right`, or distinct from `left` and `right`.
  void reduce(const Slice& left, const Slice& right, const Slice& to);
  void reduce(std::initializer_list<Slice> sources, const Slice& to);
  void reduce(const std::vector<Slice>& sources, const Slice& to);
  void put(int32_t to, const Slice& from, Slice far);
  void get(int32_t from, Slice far, const Slice& to);
  void signal(int32_t to, int32_t slot = 0);
  void wait(int32_t from, int32_t slot = 0);

  void lane(int lane) noexcept { lane_ = static_cast<size_t>(lane); }
  /// window() bounds the lane's steps in flight; 0: no bound.
  void window(int32_t steps) noexcept { window_ = steps; }

  [[nodiscard]] Schedule finish();

 private:
  struct Use {
    int32_t written = 0, read = 0;  // steps up to the last access
  };
  struct Lane {
    std::vector<Step> steps;
    std::vector<Use> uses;
    int32_t acquired = 0;  // step count required by later steps
  };

  void add(Verb verb, int32_t peer, int32_t slot, const Slice* sources, size_t source_count,
           const Slice* destinations, size_t destination_count);
  void check(const Slice& slice) const;
  void need(const Slice& slice, bool writes, std::vector<int32_t>& waits) const;
  void mark(const Slice& slice, bool writes, int32_t steps);
  void join(std::vector<int32_t>& waits, Step& step);
  [[nodiscard]] size_t location(const Slice& slice, int32_t block) const noexcept;
  void shape();

  Schedule made_;
  const Levels* levels_;
  const Plan* plan_;
  std::vector<Lane> lanes_;
  size_t lane_ = 0;
  int32_t window_ = 0;
  size_t base_[kSpaces] = {};
};

}  // namespace tern::coll
