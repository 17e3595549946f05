// SPDX-License-Identifier: Apache-2.0
// Tree scatter: a rank receives the subtree's blocks as a single message and forwards the
// children's blocks.
// Trees: binomial, 4-nomial, by levels (a message per host).
// Definitions: stage slot i holds the block of the subtree's i-th rank; the root sends runs of
// consecutive ranks.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/tree.hpp"

namespace tern::coll {
namespace {

void from_root(Builder& b, const Tree& tree) {
  for (const int32_t child : tree.children(b.rank()))
    for (const RankRun& run : runs_of(tree.subtree(child)))
      b.send(child, Builder::input(run.first, run.count));
  b.copy(Builder::input(b.rank()), Builder::output());
}

void recv_mine(Builder& b, int32_t parent, const std::vector<int32_t>& mine) {
  const auto width = static_cast<int32_t>(mine.size());
  if (parent != b.root()) return b.recv(parent, Builder::staged(0, 0, width));
  int32_t slot = 0;
  for (const RankRun& run : runs_of(mine)) {
    b.recv(parent, Builder::staged(slot, 0, run.count));
    slot += run.count;
  }
}

void scatter_along(Builder& b, const Tree& tree) {
  if (b.rank() == b.root()) return from_root(b, tree);
  const int32_t parent = tree.parent(b.rank());
  const std::vector<int32_t> mine = tree.subtree(b.rank());
  auto slot = static_cast<int32_t>(mine.size());
  if (slot == 1) return b.recv(parent, Builder::output());
  b.stage(slot);
  recv_mine(b, parent, mine);
  for (const int32_t child : tree.children(b.rank())) {
    const auto width = static_cast<int32_t>(tree.subtree(child).size());
    slot -= width;
    b.send(child, Builder::staged(slot, 0, width));
  }
  b.copy(Builder::staged(0), Builder::output());
}

}  // namespace

void scatter_binomial(Builder& b) { scatter_along(b, Tree::k_nomial(b.ranks(), b.root(), 2)); }
void scatter_knomial(Builder& b) { scatter_along(b, Tree::k_nomial(b.ranks(), b.root(), kRadix)); }
void scatter_two_level(Builder& b) {
  scatter_along(b, Tree::by_levels(b.levels(), b.ranks(), b.root()));
}

}  // namespace tern::coll
