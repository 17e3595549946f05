// SPDX-License-Identifier: Apache-2.0
// Symbol: lists of contributions.
#include "coll/laboratory/verify/symbol.hpp"

#include <algorithm>
#include <tuple>

#include "base/error.hpp"

namespace tern::coll {

void Symbol::append(const Symbol& right, bool commutative) {
  runs_.insert(runs_.end(), right.runs_.begin(), right.runs_.end());
  if (commutative)
    std::sort(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) {
      return std::tie(a.block, a.low, a.high) < std::tie(b.block, b.low, b.high);
    });
  merge();
}

void Symbol::merge() {
  size_t kept = 0;
  for (size_t i = 1; i < runs_.size(); ++i) {
    Run& last = runs_[kept];
    if (runs_[i].block == last.block && runs_[i].low == last.high)
      last.high = runs_[i].high;
    else
      runs_[++kept] = runs_[i];
  }
  if (!runs_.empty()) runs_.resize(kept + 1);
}

Symbol Symbol::of_ranks(const std::vector<char>& known) {
  Symbol set;
  for (size_t r = 0; r < known.size(); ++r)
    if (known[r] != 0)
      set.runs_.push_back({0, static_cast<int32_t>(r), static_cast<int32_t>(r) + 1});
  set.merge();
  return set;
}

void Symbol::mark(std::vector<char>& known) const noexcept {
  for (const Run& run : runs_)
    for (int32_t r = run.low; r < run.high; ++r) known[static_cast<size_t>(r)] = 1;
}

Symbol Symbol::at_block(int32_t block) const {
  Symbol moved = *this;
  for (Run& run : moved.runs_) run.block = block;
  return moved;
}

std::string Symbol::text() const {
  if (runs_.empty()) return "nothing";
  std::string text;
  for (const Run& run : runs_) {
    if (!text.empty()) text += ", then ";
    text += run.high == run.low + 1
                ? strf("block %d of rank %d", run.block, run.low)
                : strf("block %d of ranks %d..%d", run.block, run.low, run.high - 1);
  }
  return text;
}

}  // namespace tern::coll
