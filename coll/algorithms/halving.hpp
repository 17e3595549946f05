// SPDX-License-Identifier: Apache-2.0
// Recursive doubling and halving of partial results. Partial results stay in rank order, and in
// place, for any rank count. See: coll/algorithms/ranks.hpp (Fold); Thakur, Rabenseifner, Gropp
// 2005.
#pragma once

#include "coll/algorithms/ranks.hpp"
#include "coll/schedule/builder.hpp"

namespace tern::coll {

struct Place {
  Space space;
  int32_t copy;  // mirror number
  bool operator==(const Place&) const = default;
};
inline constexpr Place kAtInput{Space::kInput, 0};
inline constexpr Place kAtOutput{Space::kOutput, 0};
inline constexpr Place kAtMirror{Space::kMirror, 0};
inline constexpr Place kAtSecondMirror{Space::kMirror, 1};

/// Blocks [low, low + blocks) of the partial result.
struct Held {
  Place at = kAtInput;
  Place spare = kAtOutput;  // never the first mirror
  int32_t low = 0, blocks = 1;
};

[[nodiscard]] Slice slice_at(const Builder& b, Place at, int32_t first, int32_t blocks) noexcept;
[[nodiscard]] inline Slice slice_of(const Builder& b, const Held& held) noexcept {
  return slice_at(b, held.at, held.low, held.blocks);
}

/// Receives the partner's part and combines, the lower rank's on the left.
void meet(Builder& b, Held& held, int32_t partner);

/// Idle ranks send their input, partners combine.
void fold_in(Builder& b, const Fold& fold, Held& held);

/// Partners at distance 1, 2, 4, ... exchange and combine all blocks: bitwise equal sums.
void double_up(Builder& b, const Fold& fold, Held& held);

/// Halves the vector (fold.size() blocks) with ever farther partners, until each active rank holds
/// a reduced block. Partners of round k differ in bit k, which preserves rank order.
void halve(Builder& b, const Fold& fold, Held& held);

/// Reverses halve(), until each active rank has every block.
void double_back(Builder& b, const Fold& fold, Held& held);

[[nodiscard]] int32_t halved_block(const Fold& fold, int32_t number) noexcept;

}  // namespace tern::coll
