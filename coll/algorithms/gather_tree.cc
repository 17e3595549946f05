// SPDX-License-Identifier: Apache-2.0
// Tree gather: a rank collects the subtree's blocks and forwards a single message.
// Trees: binomial, 4-nomial, by levels (a message per host).
// Definitions: stage slot i holds the block of the subtree's i-th rank; the root stores blocks by
// rank: children send runs of consecutive ranks.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {
namespace {

void at_root(Builder& b, const Tree& tree) {
  b.copy(Builder::input(), Builder::output(b.rank()));
  for (const int32_t child : tree.children(b.rank()))
    for (const RankRun& run : runs_of(tree.subtree(child)))
      b.recv(child, Builder::output(run.first, run.count));
}

void collect_below(Builder& b, const Tree& tree) {
  const std::vector<int32_t> children = tree.children(b.rank());
  b.copy(Builder::input(), Builder::staged(0));
  int32_t slot = 1;
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    const auto width = static_cast<int32_t>(tree.subtree(*child).size());
    b.recv(*child, Builder::staged(slot, 0, width));
    slot += width;
  }
}

void gather_along(Builder& b, const Tree& tree) {
  if (b.rank() == b.root()) return at_root(b, tree);
  const int32_t parent = tree.parent(b.rank());
  const std::vector<int32_t> mine = tree.subtree(b.rank());
  const auto width = static_cast<int32_t>(mine.size());
  if (width == 1) return b.send(parent, Builder::input());
  b.stage(width);
  collect_below(b, tree);
  if (parent != b.root()) return b.send(parent, Builder::staged(0, 0, width));
  int32_t slot = 0;
  for (const RankRun& run : runs_of(mine)) {
    b.send(parent, Builder::staged(slot, 0, run.count));
    slot += run.count;
  }
}

}  // namespace

void gather_binomial(Builder& b) { gather_along(b, Tree::k_nomial(b.ranks(), b.root(), 2)); }
void gather_knomial(Builder& b) { gather_along(b, Tree::k_nomial(b.ranks(), b.root(), kRadix)); }
void gather_two_level(Builder& b) {
  gather_along(b, Tree::by_levels(b.levels(), b.ranks(), b.root()));
}

}  // namespace tern::coll
