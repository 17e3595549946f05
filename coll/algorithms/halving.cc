// SPDX-License-Identifier: Apache-2.0
// Exchange and halving of partial results.
#include "coll/algorithms/halving.hpp"

namespace tern::coll {

Slice slice_at(const Builder& b, PartialBuffer at, int32_t first, int32_t blocks) noexcept {
  return {at.space, first, blocks, first + at.copy * b.mirror_blocks()};
}

void meet(Builder& b, HeldBlocks& held, int32_t partner) {
  const PartialBuffer where = held.at == kAtMirror ? held.spare : kAtMirror;
  const Slice theirs = slice_at(b, where, held.low, held.blocks);
  const Slice mine = slice_of(b, held);
  b.recv(partner, theirs);
  if (partner > b.rank()) {
    b.reduce(mine, theirs, theirs);
    held.at = where;
    return;
  }
  if (held.at == kAtInput) held.at = held.spare;
  b.reduce(theirs, mine, slice_of(b, held));
}

void fold_in(Builder& b, const Fold& fold, HeldBlocks& held) {
  if (!fold.paired()) return;
  if (fold.idle())
    b.send(fold.mate(), slice_of(b, held));
  else
    meet(b, held, fold.mate());
}

void double_up(Builder& b, const Fold& fold, HeldBlocks& held) {
  fold_in(b, fold, held);
  if (fold.idle()) {
    b.recv(fold.mate(), slice_at(b, kAtOutput, held.low, held.blocks));
    held.at = kAtOutput;
    return;
  }
  for (int32_t mask = 1; mask < fold.size(); mask *= 2) {
    const int32_t partner = fold.rank_of(fold.number() ^ mask);
    b.send(partner, slice_of(b, held));
    meet(b, held, partner);
  }
  if (fold.paired()) b.send(fold.mate(), slice_of(b, held));
}

void halve(Builder& b, const Fold& fold, HeldBlocks& held) {
  for (int32_t mask = 1; mask < fold.size(); mask *= 2) {
    const int32_t partner = fold.rank_of(fold.number() ^ mask);
    const int32_t half = held.blocks / 2;
    const int32_t kept = (fold.number() & mask) == 0 ? held.low : held.low + half;
    const int32_t given = held.low + held.low + half - kept;
    b.send(partner, slice_at(b, held.at, given, half));
    held.low = kept;
    held.blocks = half;
    meet(b, held, partner);
  }
}

void double_back(Builder& b, const Fold& fold, HeldBlocks& held) {
  for (int32_t mask = fold.size() / 2; mask > 0; mask /= 2) {
    const int32_t partner = fold.rank_of(fold.number() ^ mask);
    const int32_t theirs =
        (fold.number() & mask) == 0 ? held.low + held.blocks : held.low - held.blocks;
    b.send(partner, Builder::output(held.low, held.blocks));
    b.recv(partner, Builder::output(theirs, held.blocks));
    held.low = held.low < theirs ? held.low : theirs;
    held.blocks *= 2;
  }
}

int32_t halved_block(const Fold& fold, int32_t number) noexcept {
  int32_t low = 0;
  int32_t blocks = fold.size();
  for (int32_t mask = 1; mask < fold.size(); mask *= 2) {
    blocks /= 2;
    if ((number & mask) != 0) low += blocks;
  }
  return low;
}

}  // namespace tern::coll
