// SPDX-License-Identifier: Apache-2.0
// Meeting of partial results, and the reduce-scatter half of Rabenseifner's algorithms.
// Why: recursive doubling and halving share one bookkeeping: where the partial result lies so that
// left op right can be left in place, in rank order, for any number of ranks. See:
// coll/algorithms/ranks.hpp (Fold); Thakur, Rabenseifner, Gropp 2005.
#pragma once

#include "coll/algorithms/ranks.hpp"
#include "coll/schedule/builder.hpp"

namespace tern::coll {

/// A vector in one of the memories that can hold partial results.
struct Place {
  Space space;
  int32_t copy;  // which mirror
  bool operator==(const Place&) const = default;
};
inline constexpr Place kAtInput{Space::kInput, 0};
inline constexpr Place kAtOutput{Space::kOutput, 0};
inline constexpr Place kAtMirror{Space::kMirror, 0};
inline constexpr Place kAtSecondMirror{Space::kMirror, 1};

/// The blocks [low, low + blocks) of the partial result, and where they lie.
struct Held {
  Place at = kAtInput;
  Place spare = kAtOutput;  // where results go that cannot stay at `at`; never the first mirror
  int32_t low = 0, blocks = 1;
};

[[nodiscard]] Slice slice_at(const Builder& b, Place at, int32_t first, int32_t blocks) noexcept;
[[nodiscard]] inline Slice slice_of(const Builder& b, const Held& held) noexcept {
  return slice_at(b, held.at, held.low, held.blocks);
}

/// Receives the partner's part of the blocks held and combines, the lower rank's on the left.
void meet(Builder& b, Held& held, int32_t partner);

/// The pairs of the fold combine: idle ranks send their input, their partners hold both.
void fold_in(Builder& b, const Fold& fold, Held& held);

/// Partners at distance 1, 2, 4, ... exchange all that they hold and combine it: everybody ends
/// with the sum, the same bits everywhere.
void double_up(Builder& b, const Fold& fold, Held& held);

/// Halves the vector (split into fold.size() blocks) with ever farther partners, until each active
/// rank holds one reduced block. Partners of round k differ in bit k, so what meets is adjacent in
/// rank order.
void halve(Builder& b, const Fold& fold, Held& held);

/// After halve(), with the result in the output: the same partners in reverse hand each other all
/// that they hold, until each active rank has every block.
void double_back(Builder& b, const Fold& fold, Held& held);

/// The block that halve() leaves with an active rank.
[[nodiscard]] int32_t halved_block(const Fold& fold, int32_t number) noexcept;

}  // namespace tern::coll
