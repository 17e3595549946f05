// SPDX-License-Identifier: Apache-2.0
// Trees over all ranks: k-nomial, bine, or by machine level. RankPlace: a rank's parent and
// children, farthest first; by levels, outermost first. Cost of a place: O(log p) in regular trees,
// O(p) by levels.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/schedule/builder.hpp"
#include "coll/schedule/levels.hpp"

namespace tern::coll {

struct RankPlace {
  int32_t parent = -1;  // -1: none
  std::vector<int32_t> children{};
};
/// k_nomial_place(): node v has children v + d k^i, 0 < d < k, for all i below v's lowest nonzero
/// digit.
[[nodiscard]] RankPlace k_nomial_place(int32_t ranks, int32_t root, int32_t radix, int32_t rank);
/// bine_place(): like binomial, over the steps of SwingSteps, the farthest first. Beyond a power of
/// two ranks, the first nodes get a last child each.
[[nodiscard]] RankPlace bine_place(int32_t ranks, int32_t root, int32_t rank);
/// place_by_levels(): leaders of the outermost groups form a binomial tree, then leaders within
/// each group. The root leads its group; the lowest rank leads every other group. Without levels
/// the tree is binomial.
[[nodiscard]] RankPlace place_by_levels(const Levels* levels, int32_t ranks, int32_t root,
                                        int32_t rank);
/// host_place() is this rank's place in the tree of its host.
[[nodiscard]] RankPlace host_place(const Builder& b);

/// Tree: all places. A rank's subtree is the rank, then the children's subtrees, last child first:
/// in k-nomial trees, rank order from the root.
class Tree {
 public:
  [[nodiscard]] static Tree k_nomial(int32_t ranks, int32_t root, int32_t radix);
  [[nodiscard]] static Tree by_levels(const Levels* levels, int32_t ranks, int32_t root);

  [[nodiscard]] int32_t parent(int32_t rank) const noexcept { return at(rank).parent; }
  [[nodiscard]] std::vector<int32_t> children(int32_t rank) const;
  [[nodiscard]] std::vector<int32_t> subtree(int32_t rank) const;

 private:
  struct TreeNode {
    int32_t parent = -1, first = -1, last = -1, next = -1;
  };
  explicit Tree(int32_t ranks) : nodes_(static_cast<size_t>(ranks)) {}
  [[nodiscard]] const TreeNode& at(int32_t rank) const noexcept {
    return nodes_[static_cast<size_t>(rank)];
  }
  [[nodiscard]] TreeNode& at(int32_t rank) noexcept { return nodes_[static_cast<size_t>(rank)]; }
  void attach(int32_t child, int32_t parent) noexcept;
  void hang(const std::vector<int32_t>& members, int32_t radix) noexcept;
  void hang_levels(const Levels& levels, size_t level, const std::vector<int32_t>& members);
  void collect(int32_t rank, std::vector<int32_t>& found) const;

  std::vector<TreeNode> nodes_;
};

/// reduce_up() returns this rank's part of the result.
Slice reduce_up(Builder& b, const RankPlace& place);

/// DoubleTree: two in-order binary trees over nodes 1..count. Each node is a leaf of at least one
/// tree, unless count is 1. See: Sanders, Speck, Traff 2009.
struct DoubleTree {
  int32_t count;
  bool second;
  [[nodiscard]] int32_t parent(int32_t node) const noexcept;
  /// Node 0 means no parent or child.
  [[nodiscard]] int32_t left(int32_t node) const noexcept;
  [[nodiscard]] int32_t right(int32_t node) const noexcept;

 private:
  [[nodiscard]] int32_t inner(int32_t node) const noexcept;
  [[nodiscard]] int32_t outer(int32_t node) const noexcept;
};

}  // namespace tern::coll
