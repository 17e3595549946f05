// SPDX-License-Identifier: Apache-2.0
// The known machines, and topologies from files.
#pragma once

#include <string>
#include <vector>

#include "coll/topology/topology.hpp"

namespace tern::coll {

/// load_topology() takes a known machine's name, a file's, or "auto" (host_graph.hpp). Throws
/// tern::Error.
[[nodiscard]] Topology load_topology(const std::string& name);
/// topology_text() returns the unparsed text. Throws tern::Error.
[[nodiscard]] std::string topology_text(const std::string& name);
[[nodiscard]] std::vector<std::string> known_topologies();
[[nodiscard]] const char* known_topology(const std::string& name) noexcept;

}  // namespace tern::coll
