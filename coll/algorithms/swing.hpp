// SPDX-License-Identifier: Apache-2.0
// Swing: partners at distances 1, 1, 3, 5, 11, ... in alternating directions. Most bytes stay near,
// and the farthest step crosses a third less of a ring than halving does.
// See: De Sensi et al. 2024 (arXiv 2401.09356, swing) and 2025 (arXiv 2508.17311, bine).
// Definitions: numbers are those of Fold, a power of two of active ranks on a ring.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/algorithms/halving.hpp"
#include "coll/schedule/builder.hpp"

namespace tern::coll {

class SwingSteps {
 public:
  /// `size` is a power of two.
  explicit SwingSteps(int32_t size) noexcept : size_(size) {
    while ((1 << steps_) < size) ++steps_;
  }
  [[nodiscard]] int32_t steps() const noexcept { return steps_; }
  [[nodiscard]] int32_t partner(int32_t number, int32_t step) const noexcept;
  /// reached() returns the numbers that steps after `step` reach from `number`: the blocks of
  /// `number` once a reduction has done `step`. reached(n + 2 k) is reached(n) plus 2 k, in the
  /// same order.
  [[nodiscard]] std::vector<int32_t> reached(int32_t number, int32_t step) const;

 private:
  int32_t size_, steps_ = 0;
};

/// The runs of blocks of some numbers: of the vector, split at numbers; or of the numbers' ranks.
using BlocksOf = std::vector<RankRun> (*)(const Fold& fold, const std::vector<int32_t>& numbers);
[[nodiscard]] std::vector<RankRun> blocks_of_vector(const Fold& fold,
                                                    const std::vector<int32_t>& numbers);
[[nodiscard]] std::vector<RankRun> blocks_of_ranks(const Fold& fold,
                                                   const std::vector<int32_t>& numbers);

/// swing_down() leaves each active rank the sums of its blocks, at held.at. Any order of operands.
void swing_down(Builder& b, const Fold& fold, HeldBlocks& held, BlocksOf blocks);

/// swing_back() gathers the blocks of all numbers in the output, `ascending` runs at once or single
/// blocks in the order of reached().
void swing_back(Builder& b, const Fold& fold, BlocksOf blocks, bool ascending);

}  // namespace tern::coll
