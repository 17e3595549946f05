// SPDX-License-Identifier: Apache-2.0
// Splitter: circulants and pairs.
#include "coll/forest/split.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "coll/forest/flow.hpp"

namespace tern::coll::forest {
namespace {

/// A way replaced by a split edge, with its trees.
struct Way {
  std::vector<int32_t> nodes;
  int64_t trees;
  [[nodiscard]] int32_t from() const noexcept { return nodes.front(); }
  [[nodiscard]] int32_t to() const noexcept { return nodes.back(); }
};

class Splitter {
 public:
  Splitter(const Graph& graph, const SplitWish& wish)
      : graph_(graph),
        wish_(wish),
        total_(std::accumulate(wish.supplies.begin(), wish.supplies.end(), int64_t{0})) {
    for (const Graph::Edge& edge : graph.edges)
      if (edge.capacity > 0) add({{edge.from, edge.to}, edge.capacity});
  }

  SplitResult run() {
    SplitResult made;
    if (!has_flows(graph_.nodes(), edges(), wish_.supplies)) {
      made.fault = "links beside the routes of messages";
      return made;
    }
    for (int32_t node = graph_.gpus; node < graph_.nodes(); ++node) {
      if (!circulate(node)) split_pairs(node);
      if (!drop(node)) {
        made.fault = graph_.names[static_cast<size_t>(node)];
        return made;
      }
    }
    made.edges = edges();
    return made;
  }

 private:
  [[nodiscard]] bool is_gpu(int32_t node) const noexcept { return node < graph_.gpus; }

  /// False for an edge between GPUs beside the route of messages.
  [[nodiscard]] bool usable(const std::vector<int32_t>& nodes) const {
    return !is_gpu(nodes.front()) || !is_gpu(nodes.back()) || wish_.is_route(nodes);
  }

  void add(Way way) {
    if (!usable(way.nodes)) return;
    for (Way& same : ways_)
      if (same.nodes == way.nodes) {
        same.trees += way.trees;
        return;
      }
    ways_.push_back(std::move(way));
  }

  [[nodiscard]] std::vector<Graph::Edge> edges() const {
    std::vector<Graph::Edge> made;
    for (const Way& way : ways_)
      if (way.trees > 0) made.push_back({way.from(), way.to(), way.trees});
    put_in_order(made);
    return made;
  }

  [[nodiscard]] std::vector<size_t> ways_at(int32_t node, bool in) const {
    std::vector<size_t> found;
    for (size_t i = 0; i < ways_.size(); ++i)
      if (ways_[i].trees > 0 && (in ? ways_[i].to() : ways_[i].from()) == node) found.push_back(i);
    std::sort(found.begin(), found.end(), [&](size_t a, size_t b) {
      const auto key = [&](size_t i) { return in ? ways_[i].from() : ways_[i].to(); };
      return std::pair{key(a), ways_[a].nodes} < std::pair{key(b), ways_[b].nodes};
    });
    return found;
  }

  [[nodiscard]] static std::vector<int32_t> joined(const Way& in, const Way& out) {
    std::vector<int32_t> nodes = in.nodes;
    nodes.insert(nodes.end(), out.nodes.begin() + 1, out.nodes.end());
    return nodes;
  }

  // Strides along routes, multiples of the preferred stride first.
  [[nodiscard]] std::vector<size_t> strides(const std::vector<size_t>& in,
                                            const std::vector<size_t>& out) const {
    const size_t degree = in.size();
    std::vector<size_t> made;
    for (size_t stride = 1; stride < degree; ++stride) {
      bool all = true;
      for (size_t i = 0; all && i < degree; ++i)
        all = usable(joined(ways_[in[i]], ways_[out[(i + stride) % degree]]));
      if (all) made.push_back(stride);
    }
    const auto wished = static_cast<size_t>(wish_.stride);
    std::stable_partition(made.begin(), made.end(), [&](size_t s) { return s % wished == 0; });
    return made;
  }

  bool circulate(int32_t node) {
    const std::vector<size_t> in = ways_at(node, true), out = ways_at(node, false);
    if (in.size() != out.size() || in.size() < 2) return false;
    const int64_t trees = ways_[in[0]].trees;
    for (size_t i = 0; i < in.size(); ++i)
      if (ways_[in[i]].trees != trees || ways_[out[i]].trees != trees ||
          ways_[in[i]].from() != ways_[out[i]].to())
        return false;
    const std::vector<size_t> order = strides(in, out);
    if (order.empty()) return false;
    const std::vector<Way> before = ways_;
    const auto count = static_cast<int64_t>(order.size());
    for (int64_t s = 0; s < std::min(count, trees); ++s) {
      const int64_t each = trees / count + (s < trees % count ? 1 : 0);
      for (size_t i = 0; i < in.size(); ++i) {
        const Way& to = before[out[(i + order[static_cast<size_t>(s)]) % in.size()]];
        add({joined(before[in[i]], to), each});
      }
    }
    for (size_t i = 0; i < in.size(); ++i) ways_[in[i]].trees = ways_[out[i]].trees = 0;
    if (has_flows(graph_.nodes(), edges(), wish_.supplies)) return true;
    ways_ = before;
    return false;
  }

  // The first round spreads each way in evenly over the ways out, the second takes all.
  void split_pairs(int32_t node) {
    for (const bool evenly : {true, false}) {
      const std::vector<size_t> in = ways_at(node, true);
      for (size_t i = 0; i < in.size(); ++i) {
        const std::vector<size_t> out = ways_at(node, false);
        int64_t all_out = 0;
        for (const size_t to : out) all_out += ways_[to].trees;
        const int64_t trees = ways_[in[i]].trees;
        for (size_t j = 0; j < out.size(); ++j) {
          const size_t to = out[(i + 1 + j) % out.size()];
          const int64_t share = (trees * ways_[to].trees + all_out - 1) / all_out;
          split_pair(in[i], to, evenly ? share : trees);
        }
      }
    }
  }

  void split_pair(size_t in, size_t out, int64_t most) {
    const int32_t from = ways_[in].from(), to = ways_[out].to();
    const std::vector<int32_t> nodes = joined(ways_[in], ways_[out]);
    if (from == to || !usable(nodes)) return;
    most = std::min({most, ways_[in].trees, ways_[out].trees});
    const int64_t trees = most_split(from, ways_[in].to(), to, most);
    if (trees == 0) return;
    ways_[in].trees -= trees;
    ways_[out].trees -= trees;
    add({nodes, trees});
  }

  // A cut loses by a split if u and t are on one side and w on the other.
  [[nodiscard]] int64_t most_split(int32_t u, int32_t w, int32_t t, int64_t most) const {
    for (int32_t gpu = 0; gpu < graph_.gpus && most > 0; ++gpu) {
      if (gpu != u && gpu != t) most = std::min(most, slack({u, t}, {w, gpu}, most));
      most = std::min(most, slack({w}, {u, t, gpu}, most));
    }
    return most;
  }

  [[nodiscard]] int64_t slack(const std::vector<int32_t>& sources,
                              const std::vector<int32_t>& sinks, int64_t most) const {
    const int32_t root = graph_.nodes(), sink = root + 1;
    FlowNetwork network(root + 2);
    for (const Way& way : ways_)
      if (way.trees > 0) (void)network.add(way.from(), way.to(), way.trees);
    for (int32_t gpu = 0; gpu < graph_.gpus; ++gpu)
      (void)network.add(root, gpu, wish_.supplies[static_cast<size_t>(gpu)]);
    for (const int32_t node : sources) (void)network.add(root, node, kEndless);
    for (const int32_t node : sinks) (void)network.add(node, sink, kEndless);
    return std::max<int64_t>(network.run(root, sink, total_ + most) - total_, 0);
  }

  // Ways into a switch without ways out carry no tree, nor do detours (u, w, u).
  bool drop(int32_t node) {
    std::vector<size_t> in = ways_at(node, true), out = ways_at(node, false);
    if (!in.empty() && !out.empty()) {
      const std::vector<Way> before = ways_;
      for (const size_t i : in) ways_[i].trees = 0;
      for (const size_t i : out) ways_[i].trees = 0;
      if (!has_flows(graph_.nodes(), edges(), wish_.supplies)) {
        ways_ = before;
        return false;
      }
      return true;
    }
    for (const size_t i : in) ways_[i].trees = 0;
    for (const size_t i : out) ways_[i].trees = 0;
    return true;
  }

  const Graph& graph_;
  const SplitWish& wish_;
  const int64_t total_;
  std::vector<Way> ways_;
};

}  // namespace

bool has_flows(int32_t nodes, const std::vector<Graph::Edge>& edges,
               const std::vector<int64_t>& supplies) {
  FlowNetwork network(nodes + 1);
  int64_t total = 0;
  for (const Graph::Edge& edge : edges) (void)network.add(edge.from, edge.to, edge.capacity);
  for (size_t gpu = 0; gpu < supplies.size(); ++gpu) {
    (void)network.add(nodes, static_cast<int32_t>(gpu), supplies[gpu]);
    total += supplies[gpu];
  }
  for (size_t gpu = 0; gpu < supplies.size(); ++gpu)
    if (network.run(nodes, static_cast<int32_t>(gpu), total) < total) return false;
  return true;
}

SplitResult split_switches(const Graph& graph, const SplitWish& wish) {
  return Splitter(graph, wish).run();
}

}  // namespace tern::coll::forest
