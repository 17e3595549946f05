// SPDX-License-Identifier: Apache-2.0
// make_in_hosts: one host's forest, repeated.
#include "coll/forest/hierarchy.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "coll/topology/routes.hpp"

namespace tern::coll::forest {
namespace {

struct Host {
  std::vector<int32_t> ranks;  // ascending
  Topology part;
};

std::vector<int32_t> components_without_nets(const Topology& topology) {
  std::vector<int32_t> parent(topology.nodes.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto top = [&](int32_t node) {
    while (parent[static_cast<size_t>(node)] != node) node = parent[static_cast<size_t>(node)];
    return node;
  };
  const auto is_net = [&](int32_t node) {
    return topology.nodes[static_cast<size_t>(node)].kind == Topology::Kind::kNet;
  };
  for (const Topology::Link& link : topology.links)
    if (!is_net(link.from) && !is_net(link.to))
      parent[static_cast<size_t>(top(link.from))] = top(link.to);
  std::vector<int32_t> tops;
  for (size_t node = 0; node < parent.size(); ++node)
    tops.push_back(top(static_cast<int32_t>(node)));
  return tops;
}

Host host_of(const Topology& topology, const std::vector<int32_t>& tops, int32_t top) {
  Host host;
  std::vector<int32_t> numbers(topology.nodes.size(), -1), links(topology.links.size(), -1);
  const auto add = [&](int32_t node) {
    numbers[static_cast<size_t>(node)] = static_cast<int32_t>(host.part.nodes.size());
    host.part.nodes.push_back(topology.nodes[static_cast<size_t>(node)]);
  };
  for (int32_t rank = 0; rank < topology.ranks(); ++rank) {
    const int32_t node = topology.gpus[static_cast<size_t>(rank)];
    if (tops[static_cast<size_t>(node)] != top) continue;
    host.part.gpus.push_back(static_cast<int32_t>(host.part.nodes.size()));
    host.ranks.push_back(rank);
    add(node);
  }
  for (size_t node = 0; node < tops.size(); ++node)
    if (tops[node] == top && numbers[node] < 0) add(static_cast<int32_t>(node));
  for (size_t i = 0; i < topology.links.size(); ++i) {
    Topology::Link link = topology.links[i];
    link.from = numbers[static_cast<size_t>(link.from)];
    link.to = numbers[static_cast<size_t>(link.to)];
    if (link.from < 0 || link.to < 0) continue;
    links[i] = static_cast<int32_t>(host.part.links.size());
    host.part.links.push_back(link);
  }
  for (Topology::GivenRoute route : topology.given) {
    route.from = numbers[static_cast<size_t>(route.from)];
    route.to = numbers[static_cast<size_t>(route.to)];
    for (int32_t& link : route.links) link = links[static_cast<size_t>(link)];
    const bool inside = std::find(route.links.begin(), route.links.end(), -1) == route.links.end();
    if (route.from >= 0 && route.to >= 0 && inside) host.part.given.push_back(route);
  }
  return host;
}

std::vector<Host> host_groups(const Topology& topology) {
  const std::vector<int32_t> tops = components_without_nets(topology);
  std::vector<int32_t> seen;
  std::vector<Host> hosts;
  for (const int32_t gpu : topology.gpus) {
    const int32_t top = tops[static_cast<size_t>(gpu)];
    if (std::find(seen.begin(), seen.end(), top) != seen.end()) continue;
    seen.push_back(top);
    hosts.push_back(host_of(topology, tops, top));
  }
  return hosts;
}

bool are_equal(const std::vector<Host>& hosts) {
  const auto edges = [](const Host& host) {
    Graph graph = graph_of(host.part);
    for (Graph::Edge& edge : graph.edges) edge.capacity *= graph.unit;
    return graph.edges;
  };
  const std::vector<Graph::Edge> first = edges(hosts[0]);
  return std::all_of(hosts.begin(), hosts.end(), [&](const Host& host) {
    return host.ranks.size() == hosts[0].ranks.size() && edges(host) == first;
  });
}

/// A tree from the root to the same place in all hosts, then along the host's tree.
Tree repeated(const Tree& tree, const std::vector<Host>& hosts, int32_t root, int32_t ranks) {
  Tree made{root, tree.weight, std::vector<int32_t>(static_cast<size_t>(ranks), -1)};
  for (const Host& host : hosts)
    for (size_t place = 0; place < host.ranks.size(); ++place) {
      const int32_t parent = tree.parents[place];
      const int32_t rank = host.ranks[place];
      if (rank != root)
        made.parents[static_cast<size_t>(rank)] =
            parent < 0 ? root : host.ranks[static_cast<size_t>(parent)];
    }
  return made;
}

/// The least time in which the links carry all trees.
Fraction time_of(const Forest& forest, const Topology& topology) {
  Routes routes(topology);
  std::vector<int64_t> loads(topology.links.size(), 0);
  for (const Tree& tree : forest.trees)
    for (int32_t rank = 0; rank < forest.gpus; ++rank) {
      const int32_t parent = tree.parents[static_cast<size_t>(rank)];
      if (parent < 0) continue;
      const bool up = turned(forest.collective);
      for (const int32_t link : routes.between(up ? rank : parent, up ? parent : rank).links)
        loads[static_cast<size_t>(link)] += tree.weight;
    }
  Fraction most{0, 1};
  for (size_t link = 0; link < loads.size(); ++link) {
    const int64_t capacity = topology.links[link].capacity;
    if (static_cast<__int128>(loads[link]) * most.under >
        static_cast<__int128>(most.over) * capacity)
      most = {loads[link], capacity};
  }
  const int64_t common = std::max<int64_t>(std::gcd(most.over, most.under), 1);
  return {most.over / common, most.under / common};
}

}  // namespace

std::optional<Forest> make_in_hosts(const Topology& topology, Collective collective,
                                    const std::function<Forest(const Topology& host)>& make) {
  const std::vector<Host> hosts = host_groups(topology);
  if (rooted(collective) || hosts.size() < 2 || !are_equal(hosts)) return {};
  const Forest inside = make(hosts[0].part);
  Forest made;
  made.collective = collective;
  made.gpus = topology.ranks();
  made.k = inside.k;
  for (const Host& host : hosts)
    for (const Tree& tree : inside.trees)
      made.trees.push_back(
          repeated(tree, hosts, host.ranks[static_cast<size_t>(tree.root)], made.gpus));
  std::stable_sort(made.trees.begin(), made.trees.end(),
                   [](const Tree& a, const Tree& b) { return a.root < b.root; });
  made.time = time_of(made, topology);
  return made;
}

}  // namespace tern::coll::forest
