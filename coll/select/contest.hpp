// SPDX-License-Identifier: Apache-2.0
// Contest: the quickest of up to four rows for the blocking calls of a key, by measurement.
// Why: a table from one machine is wrong on the next.
// How: all ranks count the calls alike, and a call's row depends on this count and on agreed times
// alone. Rows meet in pairs of blocks, the serving row's first: a machine has modes of seconds, and
// both blocks of a pair share the mode. A block is one call to warm up and three timed calls. A
// round is a probe (a pair for each rival), a match (eight pairs with one rival), or a watch (four
// pairs with the second best, far apart); each round ends with an agreement on the times. A rival
// wins a match with a lead in 7 of 8 pairs and of 8 % in the middle pair.
// Cost: calls of slower rows and agreements, counted in calls of the serving row, stay below 2 % of
// all calls (no budget where `learns`).
// Threads: one at a time. See: coll/tuner.hpp, tests/unit/coll/contest_test.cc.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

/// Calls up to the next timed call, and this call.
struct Countdown {
  uint32_t left;
};

class Contest : public Countdown {
 public:
  static constexpr int kMostRows = 4;
  static constexpr int kWarmUp = 1, kBlock = kWarmUp + 3;
  static constexpr int kPairs = 8;
  static constexpr int kMostBlocks = 2 * kPairs;
  static constexpr uint32_t kWatchDistance = 1024;  // calls from pair to pair, at first

  /// The first of up to kMostRows rows serves. By the model: `microseconds` of a call by this row,
  /// and of an agreement. `known`: an earlier run has found this row the best.
  Contest(std::span<const Algorithm* const> rows, double microseconds, double agreement,
          bool learns, bool known);

  /// The row of calls outside the blocks.
  [[nodiscard]] const Algorithm& serving() const noexcept { return *rows_[0].algorithm; }
  /// Whether a trial has ended, here or in an earlier run, with the serving row as the best.
  [[nodiscard]] bool is_decided() const noexcept { return decided_; }
  /// Of the serving row, agreed; 0: never measured.
  [[nodiscard]] double nanoseconds() const noexcept { return nanoseconds_; }
  /// Agreements so far.
  [[nodiscard]] uint32_t rounds() const noexcept { return rounds_; }
  /// Rows to compare: without any, there is no contest.
  [[nodiscard]] bool has_rivals() const noexcept { return rows_.size() > 1; }

  // Where `left` has come to 0, for this call and its time:
  /// The row of the call.
  [[nodiscard]] const Algorithm& row() const noexcept { return *rows_[block_row()].algorithm; }
  /// True: the round ends with this call, and agree() comes before the next call.
  [[nodiscard]] bool take(int64_t nanoseconds) noexcept;
  /// This rank's times: a block each, in order.
  [[nodiscard]] std::span<const uint32_t> times() const noexcept {
    return {times_.data(), static_cast<size_t>(blocks_)};
  }
  /// Times of all ranks in nanoseconds. `worst`: of each block the longest time of any rank.
  /// `agreement`: of the last one; 0: not known. `look`: of two readings of the clock.
  void agree(std::span<const uint32_t> worst, uint32_t agreement, uint32_t look) noexcept;

 private:
  enum class Round : uint8_t { kProbe, kMatch, kWatch };
  struct Rival {
    const Algorithm* algorithm;
    float ratio;         // time of a call by time of the serving row's
    bool measured;       // the ratio was measured
    bool to_be_matched;  // a match of this trial
  };

  [[nodiscard]] size_t block_row() const noexcept {
    return block_ % 2 == 0 || blocks_ == 0 ? 0 : round_ == Round::kProbe ? 1 + block_ / 2 : rival_;
  }
  void begin(Round round) noexcept;
  void await_pair() noexcept;
  void go_on() noexcept;
  void rest() noexcept;
  [[nodiscard]] double price(size_t row) const noexcept;
  void measure(size_t row, float ratio, int pairs) noexcept;
  void judge_probe(std::span<const uint32_t> worst) noexcept;
  void judge_match(std::span<const uint32_t> worst) noexcept;
  void judge_watch(std::span<const uint32_t> worst) noexcept;
  void replace(float ratio) noexcept;

  std::vector<Rival> rows_;  // the serving row first
  std::array<uint32_t, kMostBlocks> times_{};
  uint64_t calls_ = 0;
  double spent_ = 0;  // calls of the serving row
  double agreement_;  // the cost of an agreement, in such calls
  double look_;       // the cost of a look at the clock, in such calls
  double nanoseconds_ = 0;
  uint32_t waited_ = 0;  // the first value of `left`
  uint32_t rounds_ = 0, distance_ = kWatchDistance;
  uint8_t blocks_ = 0, block_ = 0, call_ = 0;
  uint8_t rival_ = 1, probes_ = 0;
  Round round_ = Round::kProbe;
  bool learns_, decided_;
};

}  // namespace tern::coll
