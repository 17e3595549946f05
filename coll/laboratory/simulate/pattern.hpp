// SPDX-License-Identifier: Apache-2.0
// Pattern: the schedules of all ranks without ranks and blocks: a few outlines, and each rank's
// peers in order of first use. Dependencies are in a normal form: of a step's waits only those
// remain that the earlier steps of the lane have not waited for.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "coll/schedule/schedule.hpp"

namespace tern::coll {

struct Algorithm;
struct Levels;

struct OutlineStep {
  Verb verb = Verb::kJoin;
  uint8_t sources = 0, destinations = 0, wait_lane = 0;
  bool follows_put = false;  // a signal right behind a put to the same peer
  int32_t peer = kSelf;      // index among the rank's peers
  int32_t slot = 0;
  int32_t blocks = 0;
  int32_t after = 0, wait_steps = 0;
  int32_t nth = 0;  // messages of a peer and lane, signals of a peer and slot: by direction, from 0
  bool operator==(const OutlineStep&) const = default;
};

struct Outline {
  Collective collective;
  int32_t parts, at_once, words, inbox_slots;
  bool within_blocks = true;  // no slice crosses a block of MPI
  int32_t peers = 0;
  std::vector<uint32_t> lane_begin;
  std::vector<OutlineStep> steps;
  std::vector<char> sends{};  // to a peer: data or signals

  [[nodiscard]] int lanes() const noexcept { return static_cast<int>(lane_begin.size()) - 1; }
  [[nodiscard]] int32_t lane_size(int lane) const noexcept {
    const auto l = static_cast<size_t>(lane);
    return static_cast<int32_t>(lane_begin[l + 1] - lane_begin[l]);
  }
  [[nodiscard]] const OutlineStep& step(int lane, int32_t index) const noexcept {
    return steps[lane_begin[static_cast<size_t>(lane)] + static_cast<uint32_t>(index)];
  }
  bool operator==(const Outline&) const = default;
};

class Pattern {
 public:
  /// `all[r]` is rank r's schedule. Throws tern::Error for inter-communicators.
  [[nodiscard]] static Pattern of(const std::vector<Schedule>& all);
  /// Builds every rank's schedule, or a schedule or two where the row names its symmetry.
  [[nodiscard]] static Pattern of(const Algorithm& row, int32_t ranks, int32_t root,
                                  const Levels* levels);

  /// Patterns beside one another: the ranks of parts[0], then those of parts[1], ...
  [[nodiscard]] static Pattern beside(const std::vector<const Pattern*>& parts);

  [[nodiscard]] int32_t ranks() const noexcept { return static_cast<int32_t>(outline_of_.size()); }
  [[nodiscard]] int32_t outline_of(int32_t rank) const {
    return outline_of_[static_cast<size_t>(rank)];
  }
  [[nodiscard]] const Outline& outline(int32_t rank) const {
    return outlines_[static_cast<size_t>(outline_of(rank))];
  }
  [[nodiscard]] const std::vector<Outline>& outlines() const noexcept { return outlines_; }
  [[nodiscard]] std::span<const int32_t> peers(int32_t rank) const {
    const auto r = static_cast<size_t>(rank);
    return {peers_.data() + begin_[r], begin_[r + 1] - begin_[r]};
  }
  /// The index of `peer` among the rank's peers. Throws tern::Error if the rank never uses `peer`.
  [[nodiscard]] int32_t index_of(int32_t rank, int32_t peer) const;

 private:
  void add(const Schedule& schedule);
  int32_t intern(Outline outline);
  void sort_peers();

  std::vector<Outline> outlines_;
  std::unordered_multimap<size_t, int32_t> by_hash_;
  std::vector<int32_t> outline_of_;
  std::vector<size_t> begin_{0};
  std::vector<int32_t> peers_;
  std::vector<int32_t> sorted_;  // indices of a rank's peers, by peer
};

}  // namespace tern::coll
