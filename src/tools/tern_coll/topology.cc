// SPDX-License-Identifier: Apache-2.0
// tern_coll topology: the canonical text of a graph, as ranks compare it.
#include "base/digest.hpp"
#include "base/error.hpp"
#include "coll/topology/canonical.hpp"
#include "coll/topology/machines.hpp"
#include "mpi.h"
#include "tools/tern_coll/commands.hpp"

namespace tern::coll_tool {

int topology(const Options& options) {
  const std::string name = options.topology.empty() ? options.collective : options.topology;
  if (name.empty()) {
    std::string known;
    for (const std::string& one : coll::known_topologies()) known += ", " + one;
    throw Error(MPI_ERR_ARG, "topology needs a file or a known machine" + known);
  }
  const coll::Topology graph = coll::load_topology(name);
  const std::string text = coll::canonical_text(graph);
  int switches = 0, networks = 0;
  for (const coll::Topology::Node& node : graph.nodes) {
    switches += node.kind == coll::Topology::Kind::kNode ? 1 : 0;
    networks += node.kind == coll::Topology::Kind::kNet ? 1 : 0;
  }
  write_output(
      options,
      strf("# %s: %d GPUs, %d nodes, %d network switches, %zu links one way; graph %016llx\n",
           name.c_str(), graph.ranks(), switches, networks, graph.links.size(),
           static_cast<unsigned long long>(digest_text(text))) +
          text);
  return 0;
}

}  // namespace tern::coll_tool
