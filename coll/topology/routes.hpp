// SPDX-License-Identifier: Apache-2.0
// Routes: the links that a message takes between two GPUs: the machine's closed route or the route
// given in the text, else the route of least latency, then of fewest links.
// Why: the pairs of a large machine need more memory than the graph, so a route is found at its
// first use. Lifetime: below the topology's. Threads: one at a time.
// Cost: a source's first route O(links log nodes), others O(length); per source 4 bytes a node.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "coll/topology/topology.hpp"

namespace tern::coll {

struct Route {
  std::vector<int32_t> links;
  double latency = 0;  // us
  bool mapped = true;  // crosses no network: ranks map each other's memory
};

/// The host of each rank: the lowest rank to which links lead without a network switch.
[[nodiscard]] std::vector<int64_t> hosts_of(const Topology& topology);

class Routes {
 public:
  explicit Routes(const Topology& topology);

  /// `from` and `to` are ranks. References stay valid.
  [[nodiscard]] const Route& between(int32_t from, int32_t to);
  /// find() keeps no routes; `route` is overwritten.
  void find(int32_t from, int32_t to, Route* route);

 private:
  [[nodiscard]] const std::vector<int32_t>& ways_from(int32_t rank);
  void follow(int32_t from, int32_t to, std::vector<int32_t>* links);
  void complete(Route& route) const;
  [[nodiscard]] static uint64_t key(int32_t from, int32_t to) noexcept {
    return static_cast<uint64_t>(from) << 32 | static_cast<uint32_t>(to);
  }

  const Topology& topology_;
  std::vector<std::vector<int32_t>> out_;   // links by node
  std::vector<std::vector<int32_t>> ways_;  // by rank: the last link to each node; empty: unknown
  std::unordered_map<uint64_t, Route> found_;
};

}  // namespace tern::coll
