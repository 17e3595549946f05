// SPDX-License-Identifier: Apache-2.0
// The canonical text of a graph: equal for texts that differ in ranges, comments, number formats or
// the order of links. Graphs with equal canonical texts have equal routes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "coll/topology/topology.hpp"

namespace tern::coll {

/// A statement per line, one name each. parse_topology() of the text gives the same graph, with
/// links ordered by their ends.
[[nodiscard]] std::string canonical_text(const Topology& topology);

/// A graph that all ranks of a job share.
struct JobTopology {
  Topology graph;    // of the canonical text
  std::string name;  // of the file, or a known machine
  uint64_t hash;     // of the canonical text
};
[[nodiscard]] std::shared_ptr<const JobTopology> job_topology_of(const std::string& text,
                                                                 const std::string& name);
/// Reads TERN_TOPOLOGY; null if `name` is empty. Throws tern::Error.
[[nodiscard]] std::shared_ptr<const JobTopology> job_topology(const std::string& name);

}  // namespace tern::coll
