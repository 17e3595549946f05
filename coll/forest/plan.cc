// SPDX-License-Identifier: Apache-2.0
// make_forest: the search for k, the capacities, and the strides.
#include "coll/forest/plan.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "coll/forest/form.hpp"
#include "coll/forest/hierarchy.hpp"
#include "coll/forest/pack.hpp"
#include "coll/forest/split.hpp"
#include "coll/topology/routes.hpp"
#include "mpi.h"

namespace tern::coll::forest {
namespace {

constexpr int64_t kMostSlower = 3000;  // percent of the least time
constexpr int32_t kMostFlat = 64;
constexpr int kMostKs = 4;
constexpr int32_t kFlat = 2;  // hops: good enough
constexpr size_t kMostStrides = 4;

Fraction lowest(int64_t over, int64_t under) {
  const int64_t common = std::max<int64_t>(std::gcd(over, under), 1);
  return {over / common, under / common};
}

/// Capacities in trees: time x bandwidth, rounded down.
Graph in_trees(const Graph& graph, const Fraction& time) {
  Graph made = graph;
  for (Graph::Edge& edge : made.edges)
    edge.capacity =
        static_cast<int64_t>(static_cast<__int128>(edge.capacity) * time.over / time.under);
  return made;
}

class Maker {
 public:
  Maker(const Topology& topology, Collective collective, int32_t root)
      : topology_(topology), collective_(collective), root_(root), graph_(graph_of(topology)) {
    if (turned(collective)) graph_ = graph_.turned();
    weights_ = root_weights(collective, graph_.gpus, root);
    bound_ = bound_of(graph_, weights_);
  }

  Forest run() {
    if (graph_.gpus == 1) return trivial();
    if (graph_.gpus > kMostFlat) {
      const auto make = [&](const Topology& host) { return make_forest(host, collective_, 0); };
      const std::optional<Forest> made = make_in_hosts(topology_, collective_, make);
      if (made) return proved(*made);
    }
    number_routes();
    std::optional<Forest> best;
    int tried = 0;
    for (const int32_t k : ks_by_share()) {
      const std::optional<Forest> made = try_k(k);
      if (made && (!best || made->share() > best->share())) best = made;
      if (best && best->share() >= kEnoughShare) break;
      if (++tried == kMostKs) break;
    }
    if (!best)
      throw Error(MPI_ERR_ARG, "no forest of " + std::string(name_of(collective_)) +
                                   " along the routes of messages: " + fault_);
    return *best;
  }

 private:
  struct Candidate {
    int32_t k;
    Fraction time;
    double share;
  };

  void number_routes() {
    const std::vector<int32_t> numbers = node_numbers(topology_);
    Routes routes(topology_);
    const auto ranks = static_cast<size_t>(graph_.gpus);
    routes_.resize(ranks * ranks);
    for (int32_t from = 0; from < graph_.gpus; ++from)
      for (int32_t to = 0; to < graph_.gpus; ++to) {
        if (from == to) continue;
        std::vector<int32_t> nodes = {from};
        for (const int32_t link : routes.between(from, to).links)
          nodes.push_back(
              numbers[static_cast<size_t>(topology_.links[static_cast<size_t>(link)].to)]);
        const bool turn = turned(collective_);
        if (turn) std::reverse(nodes.begin(), nodes.end());
        routes_[static_cast<size_t>(turn ? to : from) * ranks +
                static_cast<size_t>(turn ? from : to)] = nodes;
      }
  }

  [[nodiscard]] bool is_route(const std::vector<int32_t>& nodes) const {
    return routes_[static_cast<size_t>(nodes.front()) * static_cast<size_t>(graph_.gpus) +
                   static_cast<size_t>(nodes.back())] == nodes;
  }

  [[nodiscard]] std::vector<int64_t> supplies(int32_t k) const {
    std::vector<int64_t> made = weights_;
    for (int64_t& one : made) one *= k;
    return made;
  }

  [[nodiscard]] bool enough(const Fraction& time, int32_t k) const {
    return has_flows(graph_.nodes(), in_trees(graph_, time).edges, supplies(k));
  }

  // The least time at which rounded capacities carry k trees a root: some capacity is whole then.
  [[nodiscard]] Fraction least_time(int32_t k) const {
    std::set<int64_t> capacities;
    for (const Graph::Edge& edge : graph_.edges) capacities.insert(edge.capacity);
    std::optional<Fraction> best;
    for (const int64_t capacity : capacities) {
      const auto least = static_cast<int64_t>(
          (static_cast<__int128>(bound_.units) * k * capacity + bound_.capacity - 1) /
          bound_.capacity);
      int64_t low = std::max<int64_t>(least, 1), high = low;
      while (!enough({high, capacity}, k)) {
        low = high + 1;
        high *= 2;
        if (best && static_cast<double>(low) / static_cast<double>(capacity) >= best->value())
          break;
      }
      if (best && static_cast<double>(low) / static_cast<double>(capacity) >= best->value())
        continue;
      while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        (enough({middle, capacity}, k) ? high : low) =
            enough({middle, capacity}, k) ? middle : middle + 1;
      }
      const Fraction found = lowest(low, capacity);
      if (!best || found.value() < best->value()) best = found;
    }
    return *best;
  }

  /// The smallest k within 3 % first, then others by share.
  [[nodiscard]] std::vector<int32_t> ks_by_share() {
    std::vector<Candidate> all;
    const double bound = static_cast<double>(bound_.units) / static_cast<double>(bound_.capacity);
    for (int32_t k = 1; k <= kMostTrees; ++k) {
      const Fraction time = least_time(k);
      all.push_back({k, time, bound * k / time.value()});
      times_.push_back(time);
      if (all.back().share >= kEnoughShare) break;
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Candidate& a, const Candidate& b) { return a.share > b.share; });
    std::vector<int32_t> order;
    for (const Candidate& one : all) order.push_back(one.k);
    return order;
  }

  // Where routes leave switches unsplit, more time gives more capacity.
  std::optional<Forest> try_k(int32_t k) {
    const Fraction least = times_[static_cast<size_t>(k) - 1];
    for (int64_t percent = 100; percent <= kMostSlower; percent += percent / 12) {
      const Fraction time = lowest(least.over * percent, least.under * 100);
      std::optional<Forest> best;
      for (const int32_t stride : strides()) {
        std::optional<Forest> made = try_stride(k, time, stride);
        if (made && (!best || worth(*made) < worth(*best))) best = std::move(made);
        if (best && depth_of(*best) <= kFlat) break;
        if (!best) break;  // strides cannot mend what pairs cannot split
      }
      if (best) return best;
    }
    return {};
  }

  /// Depth first, then the number of trees.
  [[nodiscard]] static std::pair<int32_t, size_t> worth(const Forest& forest) {
    return {depth_of(forest), forest.trees.size()};
  }

  /// Divisors of the switches' degrees: neighbours of a host follow each other.
  [[nodiscard]] std::vector<int32_t> strides() const {
    std::vector<int32_t> degrees(static_cast<size_t>(graph_.nodes()), 0);
    for (const Graph::Edge& edge : graph_.edges) ++degrees[static_cast<size_t>(edge.from)];
    std::set<int32_t> found = {1};
    for (int32_t node = graph_.gpus; node < graph_.nodes(); ++node) {
      const int32_t degree = degrees[static_cast<size_t>(node)];
      for (int32_t stride = 2; 2 * stride <= degree; ++stride)
        if (degree % stride == 0) found.insert(stride);
    }
    std::vector<int32_t> made(found.begin(), found.end());
    if (made.size() > kMostStrides) made.resize(kMostStrides);
    return made;
  }

  std::optional<Forest> try_stride(int32_t k, const Fraction& time, int32_t stride) {
    const SplitWish wish{supplies(k), [&](const auto& nodes) { return is_route(nodes); }, stride};
    const SplitResult split = split_switches(in_trees(graph_, time), wish);
    if (!split.fault.empty()) {
      fault_ = split.fault;
      return {};
    }
    Forest forest = empty(k, time);
    for (PackedTree& tree : pack(split.edges, wish.supplies))
      forest.trees.push_back(
          {tree.root, static_cast<int32_t>(tree.weight), std::move(tree.parents)});
    return proved(std::move(forest));
  }

  /// Adds bound and cut.
  [[nodiscard]] Forest proved(Forest forest) const {
    forest.bound = lowest(bound_.units, bound_.capacity * graph_.unit);
    for (size_t node = 0; node < bound_.cut.size(); ++node)
      if (bound_.cut[node] != 0) forest.cut.push_back(graph_.names[node]);
    std::sort(forest.cut.begin(), forest.cut.end());
    const std::string fault = certify(forest, topology_);
    if (!fault.empty()) throw Error(MPI_ERR_INTERN, "a forest without proof: " + fault);
    return forest;
  }

  [[nodiscard]] Forest empty(int32_t k, const Fraction& time) const {
    Forest forest;
    forest.collective = collective_;
    forest.root = root_;
    forest.gpus = graph_.gpus;
    forest.k = k;
    forest.time = lowest(time.over, time.under * graph_.unit);
    return forest;
  }

  [[nodiscard]] Forest trivial() const {
    Forest forest = empty(1, {0, 1});
    forest.trees.push_back({0, 1, {-1}});
    return forest;
  }

  const Topology& topology_;
  const Collective collective_;
  const int32_t root_;
  Graph graph_;
  std::vector<int64_t> weights_;
  Bound bound_;
  std::vector<std::vector<int32_t>> routes_;  // nodes by from, to
  std::vector<Fraction> times_;               // by k - 1
  std::string fault_;
};

Fraction time_of_star(const Topology& topology, const Forest& star) {
  Routes routes(topology);
  std::vector<int64_t> loads(topology.links.size(), 0);
  for (int32_t gpu = 0; gpu < star.gpus; ++gpu) {
    if (gpu == star.root) continue;
    const bool up = turned(star.collective);
    for (const int32_t link : routes.between(up ? gpu : star.root, up ? star.root : gpu).links)
      ++loads[static_cast<size_t>(link)];
  }
  Fraction most{0, 1};
  for (size_t link = 0; link < loads.size(); ++link) {
    const Fraction time = lowest(loads[link], topology.links[link].capacity);
    if (time.value() > most.value()) most = time;
  }
  return most;
}

}  // namespace

// The cut has all nodes but one GPU.
Forest make_star(const Topology& topology, Collective rooted, int32_t root) {
  Forest star;
  star.collective = rooted;
  star.root = root;
  star.gpus = topology.ranks();
  star.trees.push_back({root, 1, std::vector<int32_t>(static_cast<size_t>(star.gpus), root)});
  star.trees[0].parents[static_cast<size_t>(root)] = -1;
  star.time = time_of_star(topology, star);
  const int32_t alone = topology.gpus[root == 0 ? 1 : 0];
  int64_t capacity = 0;
  for (const Topology::Link& link : topology.links)
    if ((turned(rooted) ? link.from : link.to) == alone) capacity += link.capacity;
  star.bound = lowest(1, capacity);
  for (size_t node = 0; node < topology.nodes.size(); ++node)
    if (static_cast<int32_t>(node) != alone) star.cut.push_back(topology.nodes[node].name);
  std::sort(star.cut.begin(), star.cut.end());
  const std::string fault = certify(star, topology);
  if (!fault.empty()) throw Error(MPI_ERR_INTERN, "a star without proof: " + fault);
  return star;
}

Forest make_forest(const Topology& topology, Collective collective, int32_t root) {
  return Maker(topology, collective, root).run();
}

}  // namespace tern::coll::forest
