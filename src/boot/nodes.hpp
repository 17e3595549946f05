// SPDX-License-Identifier: Apache-2.0
// Nodes: on which node each rank of a job is, in a few words for the ways in which launchers place
// ranks: in blocks, in turn, in blocks in turn.
// Why: a table by rank grows with the job in every one of its processes.
// Lifetime: of a Boot; immutable. Threads: any. Cost: 16 bytes a stretch; of() searches them.
#pragma once

#include <cstddef>
#include <vector>

namespace tern::boot {

class Nodes {
 public:
  Nodes() = default;
  /// By rank: any names, equal where the node is. They are numbered anew, from 0 in the order of
  /// their lowest ranks.
  explicit Nodes(const std::vector<int>& names);

  [[nodiscard]] bool empty() const noexcept { return stretches_.empty(); }
  /// `rank` is one of those.
  [[nodiscard]] int of(int rank) const noexcept;
  [[nodiscard]] std::size_t stretches() const noexcept { return stretches_.size(); }

 private:
  /// From rank `first` on, `block` ranks are on node `node`, as many on the next, and so on;
  /// after `nodes` of them (0: never) it begins again.
  struct Stretch {
    int first, node, block, nodes;
  };
  std::vector<Stretch> stretches_;
};

}  // namespace tern::boot
