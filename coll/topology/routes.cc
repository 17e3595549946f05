// SPDX-License-Identifier: Apache-2.0
// Routes: Dijkstra's algorithm from each source in use.
#include "coll/topology/routes.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

namespace tern::coll {

Routes::Routes(const Topology& topology) : topology_(topology) {
  if (topology.closed) return;
  out_ = topology.links_out();
  ways_.resize(topology.gpus.size());
  std::vector<int32_t> rank_of(topology.nodes.size(), -1);
  for (int32_t r = 0; r < topology.ranks(); ++r)
    rank_of[static_cast<size_t>(topology.gpus[static_cast<size_t>(r)])] = r;
  for (const Topology::GivenRoute& given : topology.given) {
    Route route{.links = given.links};
    complete(route);
    found_[key(rank_of[static_cast<size_t>(given.from)], rank_of[static_cast<size_t>(given.to)])] =
        std::move(route);
  }
}

const Route& Routes::between(int32_t from, int32_t to) {
  const auto known = found_.find(key(from, to));
  if (known != found_.end()) return known->second;
  Route route;
  find(from, to, &route);
  return found_.emplace(key(from, to), std::move(route)).first->second;
}

const std::vector<int32_t>& Routes::ways_from(int32_t rank) {
  std::vector<int32_t>& by = ways_[static_cast<size_t>(rank)];
  if (!by.empty()) return by;
  using Far = std::pair<double, int>;  // latency, links
  using Next = std::pair<Far, int32_t>;
  std::vector<Far> far(out_.size(), {std::numeric_limits<double>::infinity(), 0});
  std::vector<char> done(out_.size(), 0);
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  by.assign(out_.size(), -1);
  const int32_t source = topology_.gpus[static_cast<size_t>(rank)];
  far[static_cast<size_t>(source)] = {0, 0};
  queue.push({{0, 0}, source});
  while (!queue.empty()) {
    const auto at = static_cast<size_t>(queue.top().second);
    queue.pop();
    if (std::exchange(done[at], 1) != 0) continue;
    for (const int32_t number : out_[at]) {
      const Topology::Link& link = topology_.links[static_cast<size_t>(number)];
      const auto to = static_cast<size_t>(link.to);
      const Far along{far[at].first + link.latency, far[at].second + 1};
      if (along >= far[to]) continue;
      far[to] = along;
      by[to] = number;
      queue.push({along, link.to});
    }
  }
  return by;
}

void Routes::find(int32_t from, int32_t to, Route* route) {
  const auto known = found_.find(key(from, to));
  if (known != found_.end()) {
    *route = known->second;
    return;
  }
  route->links.clear();
  route->latency = 0;
  route->mapped = true;
  if (topology_.closed)
    topology_.closed(from, to, &route->links);
  else
    follow(from, to, &route->links);
  complete(*route);
}

void Routes::follow(int32_t from, int32_t to, std::vector<int32_t>* links) {
  const std::vector<int32_t>& by = ways_from(from);
  const int32_t source = topology_.gpus[static_cast<size_t>(from)];
  for (int32_t at = topology_.gpus[static_cast<size_t>(to)]; at != source;) {
    links->push_back(by[static_cast<size_t>(at)]);
    at = topology_.links[static_cast<size_t>(links->back())].from;
  }
  std::reverse(links->begin(), links->end());
}

void Routes::complete(Route& route) const {
  for (const int32_t number : route.links) {
    const Topology::Link& link = topology_.links[static_cast<size_t>(number)];
    route.latency += link.latency;
    route.mapped &= topology_.nodes[static_cast<size_t>(link.to)].kind != Topology::Kind::kNet;
  }
}

std::vector<int64_t> hosts_of(const Topology& topology) {
  std::vector<int32_t> up(topology.nodes.size());
  std::iota(up.begin(), up.end(), 0);
  const auto top = [&](int32_t node) {
    while (up[static_cast<size_t>(node)] != node)
      node = up[static_cast<size_t>(node)] = up[static_cast<size_t>(up[static_cast<size_t>(node)])];
    return node;
  };
  const auto is_net = [&](int32_t node) {
    return topology.nodes[static_cast<size_t>(node)].kind == Topology::Kind::kNet;
  };
  for (const Topology::Link& link : topology.links)
    if (!is_net(link.from) && !is_net(link.to))
      up[static_cast<size_t>(top(link.from))] = top(link.to);
  std::vector<int64_t> hosts, first(topology.nodes.size(), -1);
  for (const int32_t gpu : topology.gpus) {
    int64_t& lowest = first[static_cast<size_t>(top(gpu))];
    if (lowest < 0) lowest = static_cast<int64_t>(hosts.size());
    hosts.push_back(lowest);
  }
  return hosts;
}

}  // namespace tern::coll
