// SPDX-License-Identifier: Apache-2.0
// tern_coll topology: the canonical text of a graph, as ranks compare it, or a discovered host.
#include <algorithm>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "coll/topology/canonical.hpp"
#include "coll/topology/host_graph.hpp"
#include "coll/topology/hosts.hpp"
#include "coll/topology/machines.hpp"
#include "mpi.h"
#include "tools/tern_coll/commands.hpp"

namespace tern::coll_tool {
namespace {

/// The canonical text; of a discovered host the text with the origin of each line.
std::string text_to_print(const Options& options, const std::string& name) {
  if (!coll::is_discovery(name)) return coll::canonical_text(coll::load_topology(name));
  const coll::HostGraph graph = coll::discover_by_name(name);
  if (graph.gpus == 0)
    throw Error(MPI_ERR_ARG, "no GPU is known in " +
                                 name.substr(std::min(name.size(), std::string("auto:").size())) +
                                 "/sys/bus/pci/devices");
  if (options.host.hosts > 1) return coll::join_copies(graph.text(), options.host.hosts);
  return coll::described(graph);
}

}  // namespace

int topology(const Options& options) {
  const std::string name = options.topology.empty() ? options.collective : options.topology;
  if (name.empty()) {
    std::string known;
    for (const std::string& one : coll::known_topologies()) known += ", " + one;
    throw Error(MPI_ERR_ARG, "topology needs a file, auto (this host), or a known machine" + known);
  }
  const std::string text = text_to_print(options, name);
  const coll::Topology graph = coll::parse_topology(text, name);
  int switches = 0, networks = 0;
  for (const coll::Topology::Node& node : graph.nodes) {
    switches += node.kind == coll::Topology::Kind::kNode ? 1 : 0;
    networks += node.kind == coll::Topology::Kind::kNet ? 1 : 0;
  }
  write_output(
      options,
      strf("# %s: %d GPUs, %d nodes, %d network switches, %zu links one way; graph %016llx\n",
           name.c_str(), graph.ranks(), switches, networks, graph.links.size(),
           static_cast<unsigned long long>(digest_text(coll::canonical_text(graph)))) +
          text);
  return 0;
}

}  // namespace tern::coll_tool
