// SPDX-License-Identifier: Apache-2.0
// FlowNetwork: maximum flows in a directed graph with integer capacities.
// Cost: O(nodes^2 x arcs) a flow (Dinic 1970), far less in practice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tern::coll::forest {

/// kEndless exceeds the sum of all finite capacities.
inline constexpr int64_t kEndless = int64_t{1} << 61;

class FlowNetwork {
 public:
  explicit FlowNetwork(int32_t nodes);

  /// add_node() returns the node's number.
  [[nodiscard]] int32_t add_node();
  /// add() returns the arc's number.
  int32_t add(int32_t from, int32_t to, int64_t capacity);
  void set(int32_t arc, int64_t capacity) { arcs_[static_cast<size_t>(arc)].capacity = capacity; }
  /// run() stops as soon as the flow reaches `enough`.
  [[nodiscard]] int64_t run(int32_t source, int32_t sink,
                            int64_t enough = std::numeric_limits<int64_t>::max());
  /// After a run() below `enough`: the smallest source side of a least cut.
  [[nodiscard]] bool on_source_side(int32_t node) const {
    return level_[static_cast<size_t>(node)] >= 0;
  }

 private:
  struct Arc {
    int32_t to;
    int64_t capacity, left;
  };
  [[nodiscard]] bool find_levels(int32_t source, int32_t sink);
  [[nodiscard]] int64_t push(int32_t node, int32_t sink, int64_t most);

  std::vector<std::vector<int32_t>> out_;  // arcs by node; arc ^ 1 is the reverse
  std::vector<Arc> arcs_;
  std::vector<int32_t> level_;
  std::vector<size_t> next_;
};

}  // namespace tern::coll::forest
