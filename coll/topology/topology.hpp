// SPDX-License-Identifier: Apache-2.0
// Topology: the graph of a machine: GPUs and nodes, joined by directed links of exact capacity.
// Figures come from the text; machines.cc cites the sources of known machines.
//
// The text has a statement per line; # starts a comment. NAME may be a range, g0..g7. Numbers are
// decimal, with up to 6 digits after the point.
//   gpu NAME... [memory=GB/s]    ranks, in this order; bytes read and written per second
//   node NAME... [multicast]     switches, bridges, processors, network cards; multicast: the
//                                switch writes one put into several GPUs
//   net NAME...                  network switches: GPUs across one do not map each other's memory
//   link A B GB/s us             bandwidth each way; ranges pair up, or all link to B
//   oneway A B GB/s us           one direction
//   route A B via NAME...        for messages both ways; default: the route of least latency
//
// Lifetime: a value. Threads: none of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tern::coll {

struct Topology {
  enum class Kind : uint8_t { kGpu, kNode, kNet };
  struct Node {
    std::string name;
    Kind kind = Kind::kNode;
    double memory = 0;  // GB/s; 0: unlimited
    bool multicast = false;
  };
  /// At most one link leads from a node to another.
  struct Link {
    int32_t from, to;
    int64_t capacity;                                  // kB/s, above 0, below 10^15
    double latency;                                    // us
    [[nodiscard]] double bandwidth() const noexcept {  // GB/s
      return static_cast<double>(capacity) / 1e6;
    }
  };
  /// A route of the text, between two GPUs.
  struct GivenRoute {
    int32_t from, to;
    std::vector<int32_t> links;
  };

  std::vector<Node> nodes;
  std::vector<Link> links;
  std::vector<int32_t> gpus;  // node of each rank
  std::vector<GivenRoute> given;
  /// Generated machines: appends the links from a rank to another. Empty: the graph decides.
  std::function<void(int32_t from, int32_t to, std::vector<int32_t>* links)> closed;

  [[nodiscard]] int32_t ranks() const noexcept { return static_cast<int32_t>(gpus.size()); }
  [[nodiscard]] double memory_of(int32_t rank) const {  // GB/s; 0: unlimited
    return nodes[static_cast<size_t>(gpus[static_cast<size_t>(rank)])].memory;
  }
  [[nodiscard]] const std::string& name_of(int32_t node) const {
    return nodes[static_cast<size_t>(node)].name;
  }
  [[nodiscard]] std::string name_of_link(int32_t link) const;
  /// Links that leave each node, ascending.
  [[nodiscard]] std::vector<std::vector<int32_t>> links_out() const;
};

/// parse_topology() returns a graph with at least one GPU, in which each GPU reaches all others.
/// Errors (tern::Error) contain `name`, line, value and cure.
[[nodiscard]] Topology parse_topology(const std::string& text, const std::string& name);

}  // namespace tern::coll
