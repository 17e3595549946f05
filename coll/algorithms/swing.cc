// SPDX-License-Identifier: Apache-2.0
// Swing: partners and exchanges.
#include "coll/algorithms/swing.hpp"

#include <algorithm>
#include <utility>

namespace tern::coll {

// The sum of (-2)^i for i up to `step` is 1, -1, 3, -5, 11, ...
int32_t SwingSteps::partner(int32_t number, int32_t step) const noexcept {
  const int32_t power = 1 << (step + 1);
  const int32_t distance = (1 - (step % 2 == 0 ? -power : power)) / 3;
  const int32_t there = number % 2 == 0 ? number + distance : number - distance;
  return (there % size_ + size_) % size_;
}

std::vector<int32_t> SwingSteps::reached(int32_t number, int32_t step) const {
  std::vector<int32_t> all{number};
  for (int32_t next = step + 1; next < steps_; ++next)
    for (size_t i = all.size(); i-- > 0;) all.push_back(partner(all[i], next));
  return all;
}

namespace {
std::vector<int32_t> sorted(std::vector<int32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}
}  // namespace

std::vector<RankRun> blocks_of_vector(const Fold& /*fold*/, const std::vector<int32_t>& numbers) {
  return runs_of(numbers);
}

std::vector<RankRun> blocks_of_ranks(const Fold& fold, const std::vector<int32_t>& numbers) {
  std::vector<int32_t> ranks;
  for (const int32_t number : numbers)
    for (int32_t rank = fold.ranks_before(number); rank < fold.ranks_before(number + 1); ++rank)
      ranks.push_back(rank);
  return runs_of(ranks);
}

void swing_down(Builder& b, const Fold& fold, HeldBlocks& held, BlocksOf blocks) {
  const SwingSteps swing(fold.size());
  for (int32_t step = 0; step < swing.steps(); ++step) {
    const int32_t number = swing.partner(fold.number(), step), partner = fold.rank_of(number);
    const PartialBuffer where = held.at == kAtMirror ? held.spare : kAtMirror;
    const std::vector<RankRun> kept = blocks(fold, sorted(swing.reached(fold.number(), step)));
    for (const RankRun& run : blocks(fold, sorted(swing.reached(number, step))))
      b.send(partner, slice_at(b, held.at, run.first, run.count));
    for (const RankRun& run : kept) b.recv(partner, slice_at(b, where, run.first, run.count));
    for (const RankRun& run : kept) {
      const Slice sum = slice_at(b, where, run.first, run.count);
      b.reduce(slice_at(b, held.at, run.first, run.count), sum, sum);
    }
    held.at = where;
  }
}

void swing_back(Builder& b, const Fold& fold, BlocksOf blocks, bool ascending) {
  const SwingSteps swing(fold.size());
  const auto slices = [&](int32_t number, int32_t step) {
    std::vector<Slice> all;
    std::vector<int32_t> numbers = swing.reached(number, step);
    if (ascending) numbers = sorted(std::move(numbers));
    for (const RankRun& run : blocks(fold, numbers))
      for (int32_t i = 0; i < run.count; i += ascending ? run.count : 1)
        all.push_back(Builder::output(run.first + i, ascending ? run.count : 1));
    return all;
  };
  for (int32_t step = swing.steps() - 1; step >= 0; --step) {
    const int32_t number = swing.partner(fold.number(), step), partner = fold.rank_of(number);
    const std::vector<Slice> sent = slices(fold.number(), step), received = slices(number, step);
    // Both sides alternate, so a window of messages holds as many sends as receives.
    for (size_t i = 0; i < std::max(sent.size(), received.size()); ++i) {
      if (i < sent.size()) b.send(partner, sent[i]);
      if (i < received.size()) b.recv(partner, received[i]);
    }
  }
}

}  // namespace tern::coll
