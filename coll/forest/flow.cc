// SPDX-License-Identifier: Apache-2.0
// FlowNetwork: Dinic's algorithm.
#include "coll/forest/flow.hpp"

#include <algorithm>

namespace tern::coll::forest {

FlowNetwork::FlowNetwork(int32_t nodes)
    : out_(static_cast<size_t>(nodes)),
      level_(static_cast<size_t>(nodes)),
      next_(static_cast<size_t>(nodes)) {}

int32_t FlowNetwork::add_node() {
  out_.emplace_back();
  level_.push_back(-1);
  next_.push_back(0);
  return static_cast<int32_t>(out_.size()) - 1;
}

int32_t FlowNetwork::add(int32_t from, int32_t to, int64_t capacity) {
  const auto arc = static_cast<int32_t>(arcs_.size());
  out_[static_cast<size_t>(from)].push_back(arc);
  out_[static_cast<size_t>(to)].push_back(arc + 1);
  arcs_.push_back({to, capacity, 0});
  arcs_.push_back({from, 0, 0});
  return arc;
}

bool FlowNetwork::find_levels(int32_t source, int32_t sink) {
  std::fill(level_.begin(), level_.end(), -1);
  std::vector<int32_t> reached = {source};
  level_[static_cast<size_t>(source)] = 0;
  for (size_t i = 0; i < reached.size(); ++i)
    for (const int32_t number : out_[static_cast<size_t>(reached[i])]) {
      const Arc& arc = arcs_[static_cast<size_t>(number)];
      if (arc.left == 0 || level_[static_cast<size_t>(arc.to)] >= 0) continue;
      level_[static_cast<size_t>(arc.to)] = level_[static_cast<size_t>(reached[i])] + 1;
      reached.push_back(arc.to);
    }
  return level_[static_cast<size_t>(sink)] >= 0;
}

int64_t FlowNetwork::push(int32_t node, int32_t sink, int64_t most) {
  if (node == sink) return most;
  int64_t pushed = 0;
  const auto at = static_cast<size_t>(node);
  for (; next_[at] < out_[at].size(); ++next_[at]) {
    const auto number = static_cast<size_t>(out_[at][next_[at]]);
    Arc& arc = arcs_[number];
    if (arc.left == 0 || level_[static_cast<size_t>(arc.to)] != level_[at] + 1) continue;
    const int64_t more = push(arc.to, sink, std::min(most - pushed, arc.left));
    arc.left -= more;
    arcs_[number ^ 1].left += more;
    pushed += more;
    if (pushed == most) return pushed;
  }
  return pushed;
}

int64_t FlowNetwork::run(int32_t source, int32_t sink, int64_t enough) {
  for (Arc& arc : arcs_) arc.left = arc.capacity;
  int64_t flow = 0;
  while (flow < enough && find_levels(source, sink)) {
    std::fill(next_.begin(), next_.end(), size_t{0});
    flow += push(source, sink, std::min(enough - flow, kEndless));
  }
  return flow;
}

}  // namespace tern::coll::forest
