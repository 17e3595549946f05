// SPDX-License-Identifier: Apache-2.0
#include "coll/topology/canonical.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "coll/topology/machines.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

/// GPUs keep their order, which numbers the ranks; other nodes are sorted by name.
Topology in_order(const Topology& topology) {
  std::vector<size_t> order(topology.nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t one, size_t two) {
    const Topology::Node &a = topology.nodes[one], &b = topology.nodes[two];
    const bool first = a.kind == Topology::Kind::kGpu, second = b.kind == Topology::Kind::kGpu;
    return first != second ? first : !first && a.name < b.name;
  });
  std::vector<int32_t> number(order.size());
  Topology made = topology;
  for (size_t i = 0; i < order.size(); ++i) {
    number[order[i]] = static_cast<int32_t>(i);
    made.nodes[i] = topology.nodes[order[i]];
  }
  const auto move = [&](int32_t& node) { node = number[static_cast<size_t>(node)]; };
  for (Topology::Link& link : made.links) {
    move(link.from);
    move(link.to);
  }
  for (int32_t& gpu : made.gpus) move(gpu);
  for (Topology::GivenRoute& route : made.given) {
    move(route.from);
    move(route.to);
  }
  return made;
}

/// The shortest decimal of millionths.
std::string decimal(int64_t millionths) {
  std::string text = strf("%lld.%06lld", static_cast<long long>(millionths / 1000000),
                          static_cast<long long>(millionths % 1000000));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}
std::string decimal(double value) {
  return decimal(static_cast<int64_t>(std::llround(value * 1e6)));
}

std::string node_line(const Topology::Node& node) {
  const char* const kind = node.kind == Topology::Kind::kGpu   ? "gpu"
                           : node.kind == Topology::Kind::kNet ? "net"
                                                               : "node";
  return strf("%s %s%s%s\n", kind, node.name.c_str(),
              node.memory > 0 ? (" memory=" + decimal(node.memory)).c_str() : "",
              node.multicast ? " multicast" : "");
}

std::vector<Topology::Link> sorted_links(const Topology& topology) {
  std::vector<Topology::Link> links = topology.links;
  std::sort(links.begin(), links.end(), [](const auto& one, const auto& two) {
    return std::tie(one.from, one.to) < std::tie(two.from, two.to);
  });
  return links;
}

// A link both ways stands where the lower node comes first.
std::string link_lines(const Topology& topology) {
  const std::vector<Topology::Link> links = sorted_links(topology);
  const auto back = [&](const Topology::Link& link) {
    const auto at = std::lower_bound(links.begin(), links.end(), std::tie(link.to, link.from),
                                     [](const Topology::Link& one, const auto& ends) {
                                       return std::tie(one.from, one.to) < ends;
                                     });
    return at != links.end() && at->from == link.to && at->to == link.from &&
           at->capacity == link.capacity && at->latency == link.latency;
  };
  std::string text;
  for (const Topology::Link& link : links) {
    const bool both = back(link);
    if (both && link.from > link.to) continue;
    text += strf("%s %s %s %s %s\n", both ? "link" : "oneway", topology.name_of(link.from).c_str(),
                 topology.name_of(link.to).c_str(), decimal(link.capacity).c_str(),
                 decimal(link.latency).c_str());
  }
  return text;
}

// The text gives each route for both ways.
std::string route_lines(const Topology& topology) {
  std::vector<std::string> lines;
  for (const Topology::GivenRoute& route : topology.given) {
    if (route.from > route.to) continue;
    std::string line =
        "route " + topology.name_of(route.from) + " " + topology.name_of(route.to) + " via";
    for (size_t i = 0; i + 1 < route.links.size(); ++i)
      line += " " + topology.name_of(topology.links[static_cast<size_t>(route.links[i])].to);
    lines.push_back(line + "\n");
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace

std::string canonical_text(const Topology& given) {
  const Topology topology = in_order(given);
  std::string text;
  for (const Topology::Node& node : topology.nodes) text += node_line(node);
  return text + link_lines(topology) + route_lines(topology);
}

std::shared_ptr<const JobTopology> job_topology_of(const std::string& given,
                                                   const std::string& name) {
  const std::string text = canonical_text(parse_topology(given, name));
  return std::make_shared<const JobTopology>(
      JobTopology{parse_topology(text, name), name, digest_text(text)});
}

std::shared_ptr<const JobTopology> job_topology(const std::string& name) {
  if (name.empty()) return nullptr;
  try {
    return job_topology_of(topology_text(name), name);
  } catch (const Error& error) {
    throw Error(error.mpi_class(), strf("TERN_TOPOLOGY: %s", error.what()));
  }
}

}  // namespace tern::coll
