// SPDX-License-Identifier: Apache-2.0
// Topology: GPUs and nodes, with links of bandwidth and latency. Figures come from the file;
// topologies.cc cites the sources of known topologies.
//
// A file has a statement per line; # starts a comment. NAME may be a range, g0..g7.
//   gpu NAME... [memory=GB/s]    ranks, in this order; bytes read and written per second
//   node NAME...                 switches, bridges, processors, network cards
//   net NAME...                  network switches: GPUs across one do not map each other's memory
//   link A B GB/s us             bandwidth each way; ranges pair up, or all link to B
//   oneway A B GB/s us           one direction
//   route A B via NAME...        for messages both ways; default: the route of least latency
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern::coll {

struct Topology {
  enum class Kind : uint8_t { kGpu, kNode, kNet };
  struct Node {
    std::string name;
    Kind kind = Kind::kNode;
    double memory = 0;  // GB/s; 0: unlimited
  };
  struct Link {
    int32_t from, to;
    double bandwidth;  // GB/s
    double latency;    // us
  };
  struct Route {
    std::vector<int32_t> links;
    double latency = 0;   // us
    bool mapped = false;  // crosses no network: ranks map each other's memory
  };

  std::vector<Node> nodes;
  std::vector<Link> links;
  std::vector<int32_t> gpus;
  std::vector<std::vector<Route>> routes;

  [[nodiscard]] int32_t ranks() const noexcept { return static_cast<int32_t>(gpus.size()); }
  [[nodiscard]] const Route& route(int32_t from, int32_t to) const {
    return routes[static_cast<size_t>(from)][static_cast<size_t>(to)];
  }
  [[nodiscard]] std::string name_of_link(int32_t link) const;
};

/// Errors (tern::Error) contain `name`, line and cause.
[[nodiscard]] Topology parse_topology(const std::string& text, const std::string& name);
[[nodiscard]] Topology load_topology(const std::string& name);
[[nodiscard]] std::vector<std::string> known_topologies();
[[nodiscard]] const char* known_topology(const std::string& name) noexcept;

}  // namespace tern::coll
