// SPDX-License-Identifier: Apache-2.0
// Topology: GPUs, what lies between them, and links, each with bandwidth and latency.
// Why: schedules are compared on machines that are not at hand. A topology is a model: its figures
// are what its file says, for the known ones published constants (topologies.cc names the sources),
// and no measurement.
//
// A file has one statement a line; what follows # is a comment. NAME may be a range, g0..g7.
//   gpu NAME... [memory=GB/s]    ranks, in this order; memory: bytes read and written a second
//   node NAME...                 switches, bridges, processors, network cards
//   net NAME...                  switches of a network: GPUs behind one do not map each other's
//   memory link A B GB/s us             both ways, each with this bandwidth; ranges go pairwise, or
//   all to B oneway A B GB/s us           one way route A B via NAME...        of messages from A
//   to B, and back; else the way of least latency
// Lifetime: values. Threads: none shared. See: tern_coll(1), tests/unit/coll/simulate_test.cc.
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
    double memory = 0;  // GB/s; 0: without bound
  };
  struct Link {
    int32_t from, to;  // nodes
    double bandwidth;  // GB/s
    double latency;    // us
  };
  struct Route {
    std::vector<int32_t> links;
    double latency = 0;   // us
    bool mapped = false;  // passes no network: the ranks map each other's memory
  };

  std::vector<Node> nodes;
  std::vector<Link> links;
  std::vector<int32_t> gpus;               // nodes, by rank
  std::vector<std::vector<Route>> routes;  // by rank and rank

  [[nodiscard]] int32_t ranks() const noexcept { return static_cast<int32_t>(gpus.size()); }
  [[nodiscard]] const Route& route(int32_t from, int32_t to) const {
    return routes[static_cast<size_t>(from)][static_cast<size_t>(to)];
  }
  /// "gpu0 -> nvswitch" for messages.
  [[nodiscard]] std::string name_of_link(int32_t link) const;
};

/// `text` in the form above; `name` stands in errors. Throws tern::Error with name, line and cause.
[[nodiscard]] Topology parse_topology(const std::string& text, const std::string& name);
/// A known one, else the file of that name. Throws tern::Error.
[[nodiscard]] Topology load_topology(const std::string& name);
/// The known ones' names.
[[nodiscard]] std::vector<std::string> known_topologies();
/// The text of a known one; null where it is not known.
[[nodiscard]] const char* known_topology(const std::string& name) noexcept;

}  // namespace tern::coll
