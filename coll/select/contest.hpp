// SPDX-License-Identifier: Apache-2.0
// Contest: finds the fastest of up to four rows for the blocking calls of a key. All ranks count
// calls alike; a call's row depends only on the number of calls so far and on agreed times. Rows
// meet in pairs of blocks, serving row first: a machine changes modes over seconds, and a pair
// shares the mode. A block is a warm-up call and three timed calls. A round is a probe (a pair per
// rival), a match (eight pairs) or a watch (four distant pairs with the second best), then an
// agreement. A rival wins a match by leading in 7 of 8 pairs, and by 8 % in the median pair. Cost:
// below 2 % of all calls (`learns`: no budget).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

struct Countdown {
  uint32_t left;
};

class Contest : public Countdown {
 public:
  static constexpr int kMostRows = 4;
  static constexpr int kWarmUp = 1, kBlock = kWarmUp + 3;
  static constexpr int kPairs = 8;
  static constexpr int kMostBlocks = 2 * kPairs;
  static constexpr uint32_t kWatchDistance = 1024;

  /// `rows` begins with the serving row. Predicted us: `microseconds` per call, `agreement` per
  /// agreement. `known`: an earlier run found this row best.
  Contest(std::span<const Algorithm* const> rows, double microseconds, double agreement,
          bool learns, bool known);

  [[nodiscard]] const Algorithm& serving() const noexcept { return *rows_[0].algorithm; }
  [[nodiscard]] bool is_decided() const noexcept { return decided_; }
  /// nanoseconds() is the serving row's agreed time; 0: not measured.
  [[nodiscard]] double nanoseconds() const noexcept { return nanoseconds_; }
  [[nodiscard]] uint32_t rounds() const noexcept { return rounds_; }
  [[nodiscard]] bool has_rivals() const noexcept { return rows_.size() > 1; }

  [[nodiscard]] const Algorithm& row() const noexcept { return *rows_[block_row()].algorithm; }
  /// If take() returns true, the round ends, and agree() must precede the next call.
  [[nodiscard]] bool take(int64_t nanoseconds) noexcept;
  [[nodiscard]] std::span<const uint32_t> times() const noexcept {
    return {times_.data(), static_cast<size_t>(blocks_)};
  }
  /// All times are in ns. `worst`: per block, over ranks. `agreement`: the last; 0: unknown.
  /// `look`: two clock readings.
  void agree(std::span<const uint32_t> worst, uint32_t agreement, uint32_t look) noexcept;

 private:
  enum class Round : uint8_t { kProbe, kMatch, kWatch };
  struct Rival {
    const Algorithm* algorithm;
    float ratio;  // relative to the serving row
    bool measured;
    bool to_be_matched;
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

  std::vector<Rival> rows_;
  std::array<uint32_t, kMostBlocks> times_{};
  uint64_t calls_ = 0;
  double spent_ = 0;  // in calls of the serving row
  double agreement_;  // in calls
  double look_;       // clock reading, in calls
  double nanoseconds_ = 0;
  uint32_t waited_ = 0;
  uint32_t rounds_ = 0, distance_ = kWatchDistance;
  uint8_t blocks_ = 0, block_ = 0, call_ = 0;
  uint8_t rival_ = 1, probes_ = 0;
  Round round_ = Round::kProbe;
  bool learns_, decided_;
};

}  // namespace tern::coll
