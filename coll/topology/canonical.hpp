// SPDX-License-Identifier: Apache-2.0
// The canonical text of a graph: equal for texts that differ in ranges, comments, number formats or
// the order of links. Graphs with equal canonical texts have equal routes.
#pragma once

#include <cstdint>
#include <string>

#include "coll/topology/topology.hpp"

namespace tern::coll {

/// A statement per line, one name each. parse_topology() of the text gives the same graph, with
/// links ordered by their ends.
[[nodiscard]] std::string canonical_text(const Topology& topology);
/// Never 0.
[[nodiscard]] uint64_t graph_hash(const std::string& canonical) noexcept;

}  // namespace tern::coll
