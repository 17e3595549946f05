// SPDX-License-Identifier: Apache-2.0
// Recursive doubling and halving of partial results. Partial results stay in rank order, and in
// place, for any rank count. See: Thakur, Rabenseifner, Gropp 2005.
#pragma once

#include "coll/algorithms/ranks.hpp"
#include "coll/schedule/builder.hpp"

namespace tern::coll {

struct PartialBuffer {
  Space space;
  int32_t copy;
  bool operator==(const PartialBuffer&) const = default;
};
inline constexpr PartialBuffer kAtInput{Space::kInput, 0};
inline constexpr PartialBuffer kAtOutput{Space::kOutput, 0};
inline constexpr PartialBuffer kAtMirror{Space::kMirror, 0};
inline constexpr PartialBuffer kAtSecondMirror{Space::kMirror, 1};

/// HeldBlocks: blocks [low, low + blocks) of the partial result.
struct HeldBlocks {
  PartialBuffer at = kAtInput;
  PartialBuffer spare = kAtOutput;  // never the first mirror
  int32_t low = 0, blocks = 1;
};

[[nodiscard]] Slice slice_at(const Builder& b, PartialBuffer at, int32_t first,
                             int32_t blocks) noexcept;
[[nodiscard]] inline Slice slice_of(const Builder& b, const HeldBlocks& held) noexcept {
  return slice_at(b, held.at, held.low, held.blocks);
}

/// meet() puts the lower rank's operand on the left.
void meet(Builder& b, HeldBlocks& held, int32_t partner);

void fold_in(Builder& b, const Fold& fold, HeldBlocks& held);

/// double_up() gives bitwise equal sums.
void double_up(Builder& b, const Fold& fold, HeldBlocks& held);

/// halve() halves the vector (fold.size() blocks) with ever farther partners, until each active
/// rank holds a reduced block. Partners of round k differ in bit k, which preserves rank order.
void halve(Builder& b, const Fold& fold, HeldBlocks& held);

void double_back(Builder& b, const Fold& fold, HeldBlocks& held);

[[nodiscard]] int32_t halved_block(const Fold& fold, int32_t number) noexcept;

}  // namespace tern::coll
