// SPDX-License-Identifier: Apache-2.0
// Contest: finds the fastest of up to four rows for the blocking calls of a key, by measurement.
// Why: a table from one machine is wrong on the next. How: all ranks count calls alike, and a
// call's row depends only on the count and on agreed times. Rows are compared in pairs of blocks,
// serving row first: a machine changes modes over seconds, and a pair shares the mode. A block is a
// warm-up call and three timed calls. A round is a probe (a pair per rival), a match (eight pairs
// with one rival) or a watch (four distant pairs with the second best), and ends with an agreement
// on times. A rival wins a match by leading in 7 of 8 pairs, and by 8 % in the median pair. Cost:
// slower rows and agreements stay below 2 % of all calls (`learns`: no budget). See:
// coll/tuner.hpp, tests/unit/coll/contest_test.cc.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

/// Calls until the next timed call, inclusive.
struct Countdown {
  uint32_t left;
};

class Contest : public Countdown {
 public:
  static constexpr int kMostRows = 4;
  static constexpr int kWarmUp = 1, kBlock = kWarmUp + 3;
  static constexpr int kPairs = 8;
  static constexpr int kMostBlocks = 2 * kPairs;
  static constexpr uint32_t kWatchDistance = 1024;  // initial calls between pairs

  /// Rows: up to kMostRows, serving row first. Predicted us: `microseconds` of a call by this row,
  /// `agreement` of an agreement. `known`: an earlier run found this row best.
  Contest(std::span<const Algorithm* const> rows, double microseconds, double agreement,
          bool learns, bool known);

  /// The row of calls outside blocks.
  [[nodiscard]] const Algorithm& serving() const noexcept { return *rows_[0].algorithm; }
  /// Whether a trial has ended, in this run or earlier, with the serving row as best.
  [[nodiscard]] bool is_decided() const noexcept { return decided_; }
  /// Agreed time of the serving row; 0: not measured.
  [[nodiscard]] double nanoseconds() const noexcept { return nanoseconds_; }
  /// Agreements so far.
  [[nodiscard]] uint32_t rounds() const noexcept { return rounds_; }
  [[nodiscard]] bool has_rivals() const noexcept { return rows_.size() > 1; }

  // When `left` reaches 0:
  [[nodiscard]] const Algorithm& row() const noexcept { return *rows_[block_row()].algorithm; }
  /// True: the round ends with this call, and agree() must precede the next call.
  [[nodiscard]] bool take(int64_t nanoseconds) noexcept;
  /// This rank's times, by block.
  [[nodiscard]] std::span<const uint32_t> times() const noexcept {
    return {times_.data(), static_cast<size_t>(blocks_)};
  }
  /// Times in ns. `worst`: per block, the maximum over ranks. `agreement`: of the last agreement;
  /// 0: unknown. `look`: of two clock readings.
  void agree(std::span<const uint32_t> worst, uint32_t agreement, uint32_t look) noexcept;

 private:
  enum class Round : uint8_t { kProbe, kMatch, kWatch };
  struct Rival {
    const Algorithm* algorithm;
    float ratio;         // time relative to the serving row
    bool measured;       // the ratio was measured
    bool to_be_matched;  // awaits a match in this trial
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

  std::vector<Rival> rows_;  // serving row first
  std::array<uint32_t, kMostBlocks> times_{};
  uint64_t calls_ = 0;
  double spent_ = 0;  // calls of the serving row
  double agreement_;  // cost of an agreement, in such calls
  double look_;       // cost of a clock reading, in such calls
  double nanoseconds_ = 0;
  uint32_t waited_ = 0;  // initial `left`
  uint32_t rounds_ = 0, distance_ = kWatchDistance;
  uint8_t blocks_ = 0, block_ = 0, call_ = 0;
  uint8_t rival_ = 1, probes_ = 0;
  Round round_ = Round::kProbe;
  bool learns_, decided_;
};

}  // namespace tern::coll
