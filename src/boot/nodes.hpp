// SPDX-License-Identifier: Apache-2.0
// Nodes: the node of each rank, stored compactly for the usual placements: in blocks, round-robin,
// round-robin in blocks.
// Cost: 16 bytes per stretch; of() searches the stretches.
#pragma once

#include <cstddef>
#include <vector>

namespace tern::boot {

class Nodes {
 public:
  Nodes() = default;
  /// `names[r]` is any number for the node of rank r. Nodes are renumbered from 0 by lowest rank.
  explicit Nodes(const std::vector<int>& names);

  [[nodiscard]] bool empty() const noexcept { return stretches_.empty(); }
  [[nodiscard]] int of(int rank) const noexcept;
  [[nodiscard]] std::size_t stretches() const noexcept { return stretches_.size(); }

 private:
  /// From rank `first` on, `block` ranks are on `node`, the next on `node` + 1, and so on, wrapping
  /// after `nodes` nodes (0: never).
  struct Stretch {
    int first, node, block, nodes;
  };
  std::vector<Stretch> stretches_;
};

}  // namespace tern::boot
