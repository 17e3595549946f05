// SPDX-License-Identifier: Apache-2.0
// Trees over all ranks: k-nomial ones, and those that follow the levels of a machine.
// Why: broadcast, reduction, gather, scatter and barrier along a tree are each written once; which
// tree it is makes the algorithm. Definitions: the root's subtree is everybody; a rank's subtree is
// it, then its children's, the last child first: for k-nomial trees that is the order of the ranks
// from the root on. Cost: of order p to make. See: tests/unit/coll/tree_test.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/schedule/builder.hpp"
#include "coll/schedule/levels.hpp"

namespace tern::coll {

class Tree {
 public:
  /// Node v (counted from the root round) has the children v + d k^i, 0 < d < k, for all i below
  /// v's lowest digit that is not 0.
  [[nodiscard]] static Tree k_nomial(int32_t ranks, int32_t root, int32_t radix);
  /// Leaders of the outermost groups form a binomial tree, then those of the groups within each.
  /// A group with the root has it as its leader, others their lowest rank. Without levels:
  /// binomial.
  [[nodiscard]] static Tree by_levels(const Levels* levels, int32_t ranks, int32_t root);

  /// -1 for the root.
  [[nodiscard]] int32_t parent(int32_t rank) const noexcept { return at(rank).parent; }
  /// The one with the largest subtree (the outermost level) first.
  [[nodiscard]] std::vector<int32_t> children(int32_t rank) const;
  [[nodiscard]] std::vector<int32_t> subtree(int32_t rank) const;

 private:
  struct Node {
    int32_t parent = -1, first = -1, last = -1, next = -1;
  };
  explicit Tree(int32_t ranks) : nodes_(static_cast<size_t>(ranks)) {}
  [[nodiscard]] const Node& at(int32_t rank) const noexcept {
    return nodes_[static_cast<size_t>(rank)];
  }
  [[nodiscard]] Node& at(int32_t rank) noexcept { return nodes_[static_cast<size_t>(rank)]; }
  void attach(int32_t child, int32_t parent) noexcept;
  void hang(const std::vector<int32_t>& members, int32_t radix) noexcept;
  void hang_levels(const Levels& levels, size_t level, const std::vector<int32_t>& members);
  void collect(int32_t rank, std::vector<int32_t>& found) const;

  std::vector<Node> nodes_;
};

/// Where a rank is in the tree of its host, the root of which is the host's lowest rank: its
/// leader.
struct HostPlace {
  int32_t parent = -1;  // -1 for the leader
  std::vector<int32_t> children;
};
/// Of the rank that `b` builds for. Needs levels.
[[nodiscard]] HostPlace host_place(const Builder& b);

/// Emits the reduction of all inputs up the tree, and returns where this rank's part of the result
/// lies: at the root, all of it. In reduce_tree.cc.
Slice reduce_up(Builder& b, const Tree& tree);

/// Two in-order binary trees over the nodes 1..count, each of which is a leaf in at least one (but
/// a single one). See: Sanders, Speck, Traff 2009.
struct DoubleTree {
  int32_t count;
  bool second;
  /// 0 for the root.
  [[nodiscard]] int32_t parent(int32_t node) const noexcept;
  /// 0 if it has no such child.
  [[nodiscard]] int32_t left(int32_t node) const noexcept;
  [[nodiscard]] int32_t right(int32_t node) const noexcept;

 private:
  [[nodiscard]] int32_t inner(int32_t node) const noexcept;
  [[nodiscard]] int32_t outer(int32_t node) const noexcept;
};

}  // namespace tern::coll
